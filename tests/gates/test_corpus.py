"""The hostile corpus: through all layers, through the gates alone, and through the cage alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from gate_corpus import hostile_files
from gate_entries import ask
from victims import SECRET

from gates import Admitted, Rejected, evaluate, scan
from gates.scan import judge_contract
from runtime.cage import CageEnd, CageLimits, open_cage
from runtime.kernel import RunConfig, RunEnd

HOSTILE = [pytest.param(each, id=each.id) for each in hostile_files()]
KILLED = {"killed-in-load", "killed-in-dry-run"}
# What a candidate meets when a cage limit comes to it as an exception instead of a kill.
LIMIT_ERRORS = ("MemoryError", "RecursionError", "SystemError")
if sys.version_info >= (3, 12):
    # Very long integers are divided by a Python module there, which a candidate has no __import__ to get.
    LIMIT_ERRORS += ("KeyError",)


@pytest.fixture(scope="module")
def clean(victim):
    """What the victim does when nobody was there before."""
    return victim()


@pytest.mark.slow
@pytest.mark.parametrize("hostile", HOSTILE)
def test_all_layers_give_the_expected_verdict_and_nothing_leaves_a_trace(
    hostile, cage, quick, smoke_cell, canary, clean, victim
):
    evaluation = evaluate(hostile.source, cage, [smoke_cell], RunConfig(), quick)
    verdict = evaluation.verdict
    if hostile.expected in {"gate1", "gate2", "gate3"}:
        assert isinstance(verdict, Rejected)
        assert f"gate{verdict.gate}" == hostile.expected, verdict.reason
        assert not KILLED & {found.rule for found in verdict.findings}
    elif hostile.expected == "cage":
        first = verdict.findings[0]
        assert first.rule in KILLED or any(name in first.message for name in LIMIT_ERRORS), verdict.reason
        assert CageEnd.FORBIDDEN.describe(quick) not in first.message
    elif isinstance(verdict, Rejected):  # harmless: it may fail on its own, by an exception of its own
        assert [found.rule for found in verdict.findings] == ["raises"]
    else:
        assert evaluation.outcome.end is CageEnd.FINISHED
        assert evaluation.reports[0].end is RunEnd.FINISHED
        assert not any("LA:" in line or SECRET in line for line in evaluation.reports[0].log)
        if hostile.expected == "engine-validation":
            assert evaluation.reports[0].fills == ()
            assert evaluation.reports[0].refused_count > 0
    assert list(canary.iterdir()) == []
    if not isinstance(verdict, Rejected) or verdict.gate > 1:
        assert victim() == clean


@pytest.mark.parametrize("hostile", HOSTILE)
def test_the_gates_alone_refuse_by_the_text_what_they_should(hostile):
    scanned = scan(hostile.source)
    verdict = scanned if isinstance(scanned, Rejected) else judge_contract(scanned)
    if hostile.expected == "gate1":
        assert verdict is not None
        assert verdict.gate == 1
    else:
        assert verdict is None or (hostile.expected == "gate3" and verdict.gate == 3), verdict.reason


@pytest.fixture(scope="module")
def open_gates(canary):
    """A cage whose children run any text with real builtins and real modules."""
    assert canary.is_dir()
    with open_cage("gate_entries:run") as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("hostile", HOSTILE)
def test_the_cage_alone_lets_nothing_out(hostile, open_gates, canary):
    limits = CageLimits(cpu_s=1, wall_s=15, result_bytes=1 << 20)
    outcome = open_gates.run(ask(hostile.source.data, str(canary)), limits)
    said = outcome.payload or b""
    assert list(canary.iterdir()) == []
    assert SECRET.encode() not in said
    assert b"UDP-SENT" not in said
    assert b"SHM" not in said
    assert _processes_like(open_gates._zygote.pid) == [open_gates._zygote.pid]


def _processes_like(pid):
    """Every process with the command line of ``pid``: a zygote's children and grandchildren have their ancestor's."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (folder / "cmdline").read_bytes() == command:
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def test_the_cage_alone_runs_ordinary_files(open_gates, canary):
    """Without this, a cage that runs nothing at all would pass the tests above."""
    harmless = next(each for each in hostile_files() if each.id == "065")
    outcome = open_gates.run(ask(harmless.source.data, str(canary)))
    assert outcome.end is CageEnd.FINISHED
    assert outcome.payload.startswith(b'["')


def test_a_clean_source_after_the_whole_corpus_is_admitted(cage, smoke_cell):
    harmless = next(each for each in hostile_files() if each.id == "509")
    assert isinstance(evaluate(harmless.source, cage, [smoke_cell], RunConfig()).verdict, Admitted)
