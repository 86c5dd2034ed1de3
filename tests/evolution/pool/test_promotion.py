"""A look at the vault is counted before it is taken, taken once, and never free."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from evolution.pool import (
    DecisionError,
    DecisionKind,
    EntryStatus,
    LookFailed,
    LookPolicy,
    NotPossible,
    Promoted,
    PromotionRefused,
    SegmentFailure,
    SegmentFigures,
    decision_document,
    entry_document,
)
from evolution.pool.looks import looks_left, read_looks
from evolution.pool.promotion import is_passed
from gates.findings import Finding, Rejected
from runtime.cage.outcome import CageEnd, CageOutcome
from runtime.kernel.report import RunEnd
from runtime.store import reading, writing


def looks(house):
    with reading(house.engine) as session:
        return read_looks(session)


def test_an_entry_that_passes_its_look_is_promoted_by_a_person_with_a_reason(house):
    entry = house.add_entry()
    promoted = house.promote(entry)
    assert isinstance(promoted, Promoted)
    assert promoted.entry.status is EntryStatus.PROMOTED
    assert house.pool.get(entry.id) == promoted.entry
    decision = promoted.decision
    assert (decision.kind, decision.by, decision.reason) == (DecisionKind.PROMOTED, "Ada", "steady on every fold")
    assert (decision.source_sha256, decision.binding, decision.look) == (entry.source.sha256, entry.binding, 1)
    assert house.pool.decisions(entry) == (decision,)
    (look,) = looks(house)
    assert (look.entry, look.passed, look.alpha, look.by) == (1, True, 0.005, "Ada")
    assert [interval.symbol for interval in look.intervals] == ["AAA", "BBB"]


def test_the_look_runs_on_the_vault_only_and_once(house, scripted):
    runner = scripted()
    house.promote(house.add_entry(), runner)
    assert [part for part, _ in runner.asked] == ["vault"]


def test_an_entry_that_fails_its_look_is_declined_and_nobody_sees_a_figure(house, scripted):
    entry = house.add_entry()
    failed = house.promote(entry, scripted(vault=0.0))
    assert isinstance(failed, LookFailed)
    assert house.pool.get(entry.id).status is EntryStatus.DECLINED
    assert failed.decision.kind is DecisionKind.FAILED_LOOK
    shown = (
        str(entry_document(failed.entry, [failed.decision])) + str(decision_document(failed.decision)) + repr(failed)
    )
    with reading(house.engine) as session:
        figures = session.scalars(text("SELECT figures FROM vault_look")).all()
    assert len(figures) == 2
    assert "psr" in figures[0]
    assert "psr'" not in shown.replace("validation-psr'", "")
    assert "vault" not in shown


def test_a_strategy_that_breaks_down_in_the_vault_has_failed_its_look(house, scripted):
    runner = scripted(change=lambda report: replace(report, end=RunEnd.FAILED))
    assert isinstance(house.promote(house.add_entry(), runner), LookFailed)
    assert looks(house)[0].passed is False


@pytest.mark.parametrize(
    ("figures", "passed"),
    [
        ({}, True),
        ({"psr": 0.995}, False),
        ({"psr": None}, False),
        ({"max_drawdown": 0.3}, True),
        ({"max_drawdown": 0.3001}, False),
    ],
)
def test_passing_takes_both_evidence_and_a_bearable_drawdown(figures, passed):
    segment = SegmentFigures(
        **{"bars": 750, "trades": 9, "max_drawdown": 0.1, "active_sharpe": 2.0, "psr": 0.9951} | figures
    )
    assert is_passed(segment, alpha=0.005, max_drawdown=0.30) is passed


def test_a_failure_never_passes():
    assert not is_passed(SegmentFailure(reason="", is_repeatable=True), alpha=0.5, max_drawdown=1.0)


# Refused without a look


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"dataset_sha256": "e" * 64}, "dataset sha256 was"),
        ({"config_hash": "e" * 64}, "config hash was cccccccccccc and is eeeeeeeeeeee now"),
        ({"engine_version": "0.2.0"}, "engine version was 0.1.0 and is 0.2.0 now"),
        ({"dataset": "other"}, "dataset was walks and is other now"),
    ],
)
def test_an_entry_is_bound_to_its_data_configuration_and_engine(house, changes, sentence):
    entry = house.add_entry()
    refused = house.promote(entry, binding=replace(entry.binding, **changes), open_vault=must_not_happen)
    assert isinstance(refused, PromotionRefused)
    assert sentence in refused.reason
    assert looks(house) == ()


def must_not_happen(*_):
    raise AssertionError("the vault was opened")


@pytest.mark.parametrize("by", ["", "   ", "\t", "\n", "\u00a0", "Ada\x1b[2J", "Ada\u202eecila", "Ada\nBob", "x" * 101])
def test_a_decision_needs_somebody_who_can_be_read(house, by):
    entry = house.add_entry()
    for decide in (house.pool.decline, house.pool.retire):
        with pytest.raises(DecisionError, match=r"the name of the person who decides \(--by\)"):
            decide(entry.id, by=by, reason="because")
    with pytest.raises(DecisionError, match=r"\(--by\)"):
        house.promote(entry, by=by, open_vault=must_not_happen)
    assert house.pool.get(entry.id).status is EntryStatus.CANDIDATE


@pytest.mark.parametrize("reason", ["", " \t ", "because\x00", "x" * 2001])
def test_a_decision_needs_a_reason_that_can_be_read(house, reason):
    with pytest.raises(DecisionError, match=r"the reason \(--reason\)"):
        house.promote(house.add_entry(), reason=reason, open_vault=must_not_happen)


def test_a_name_in_any_script_can_answer(house):
    assert house.promote(house.add_entry(), by=" Zoë 北川 ").decision.by == "Zoë 北川"


def test_an_entry_is_promoted_once(house):
    entry = house.add_entry()
    promoted = house.promote(entry)
    again = house.promote(entry, open_vault=must_not_happen)
    assert again == PromotionRefused(reason="entry p-0001 is promoted; only a candidate can be promoted")
    assert house.pool.decisions() == (promoted.decision,)


def test_the_same_source_is_promoted_once_even_as_another_entry(house, scripted):
    """Another engine version makes another entry, if its validation bars are new; the source is still the same."""
    house.promote(house.add_entry(b"# same"))
    with writing(house.engine) as session:
        session.execute(text("DELETE FROM validation_read"))
    house.start_run(engine_version="0.2.0")
    twin = house.add_entry(b"# same")
    refused = house.promote(twin)
    assert refused == PromotionRefused(reason="the same source was promoted before, as entry p-0001")


# The error budget


def test_when_the_budget_is_spent_promotion_is_refused_until_new_bars_accrue(house, scripted, grown):
    entries = [house.add_entry() for _ in range(12)]
    for entry in entries[:10]:
        assert isinstance(house.promote(entry, scripted(vault=0.0)), LookFailed)
    refused = house.promote(entries[10])
    assert refused == PromotionRefused(
        reason="looks at these bars have spent 0.05 of the error budget of 0.05, and one more costs 0.005; "
        "0 bars have come since the last look, and 250 are needed"
    )
    assert house.pool.get(entries[10].id).status is EntryStatus.CANDIDATE
    assert len(looks(house)) == 10

    assert obstacle(house, entries[10]) == refused
    assert looks_left(looks(house), ["AAA", "BBB"], "1d", LookPolicy()) == 0

    house.market = grown(1_600 + 249)
    assert "249 bars have come since the last look" in house.promote(entries[10]).reason

    house.market = grown(1_600 + 250)
    assert isinstance(house.promote(entries[10], scripted(vault=0.9)), Promoted)
    look = looks(house)[-1]
    assert {interval.end - interval.start for interval in look.intervals} == {timedelta(days=250)}
    # The new bars have a budget of their own, and the look has spent part of it.
    assert isinstance(house.promote(entries[11], scripted(vault=0.9)), Promoted)


def obstacle(house, entry, **changes):
    wanted = {"binding": entry.binding, "open_vault": lambda: house.market.vault}
    return house.pool.obstacle(entry, **wanted | changes)


def test_what_stands_in_the_way_is_found_without_a_look(house, scripted):
    """So that nobody is asked for a passphrase, or enrolled, for a promotion that cannot be."""
    entry, other = house.add_entry(), house.add_entry()
    assert obstacle(house, entry) is None
    changed = replace(entry.binding, engine_version="0.2.0")
    assert "engine version was" in obstacle(house, entry, binding=changed, open_vault=must_not_happen).reason
    assert looks(house) == ()
    house.promote(entry, scripted(vault=0.0))
    assert "is declined; only a candidate" in obstacle(house, house.pool.get(entry.id)).reason
    assert obstacle(house, other) is None
    assert house.pool.people.list() != ()
    assert len(looks(house)) == 1


def test_a_look_that_was_cut_short_is_no_obstacle(house, scripted):
    entry = house.add_entry()
    stopped = house.promote(entry, scripted(outcome=CageOutcome(end=CageEnd.TIMED_OUT, reason="too long")))
    assert isinstance(stopped, PromotionRefused)
    assert obstacle(house, entry) is None
    gone = replace(house.market.vault, cells=house.market.vault.cells[:1])
    assert "has had its look at the vault (look 1 of" in obstacle(house, entry, open_vault=lambda: gone).reason


def test_looks_left_are_counted_per_bars_and_only_new_ones_bring_more(house, scripted, grown):
    assert looks_left((), ["AAA", "BBB"], "1d", LookPolicy()) == 10
    entries = [house.add_entry() for _ in range(4)]
    for entry in entries[:3]:
        house.promote(entry, scripted(vault=0.0))
    assert looks_left(looks(house), ["AAA", "BBB"], "1d", LookPolicy()) == 7
    assert looks_left(looks(house), ["BBB", "NEW"], "1d", LookPolicy()) == 7
    assert looks_left(looks(house), ["NEW"], "1d", LookPolicy()) == 10
    assert looks_left(looks(house), ["AAA"], "1h", LookPolicy()) == 10
    assert looks_left(looks(house), ["AAA"], "1d", LookPolicy(alpha=0.02)) == 1


def test_looks_under_another_name_of_the_same_bars_are_counted(house, scripted):
    policy = LookPolicy(alpha=0.05)
    first, second = house.add_entry(), house.add_entry()
    house.promote(first, scripted(vault=0.0), policy=policy)
    renamed = replace(house.market.vault, name="copy", sha256="9" * 64)
    refused = house.promote(second, policy=policy, open_vault=lambda: renamed)
    assert "have spent 0.05 of the error budget of 0.05" in refused.reason


def test_two_people_cannot_spend_the_last_look_at_the_same_time(house, scripted):
    policy = LookPolicy(alpha=0.05)
    first, second = house.add_entry(), house.add_entry()
    inner = []

    class Meanwhile(scripted):
        def run(self, *arguments):
            inner.append(house.promote(second, policy=policy))
            return super().run(*arguments)

    assert isinstance(house.promote(first, Meanwhile(), policy=policy), Promoted)
    assert "have spent 0.05" in inner[0].reason


def test_a_vault_or_a_cage_that_does_not_open_costs_nothing(house, market):
    entry = house.add_entry()

    def no_vault():
        raise FileNotFoundError

    @contextmanager
    def no_cage(_bars):
        raise PermissionError
        yield

    with pytest.raises(FileNotFoundError):
        house.promote(entry, open_vault=no_vault)
    with pytest.raises(PermissionError):
        house.promote(entry, open_runner=no_cage)
    assert looks(house) == ()
    assert isinstance(house.promote(entry), Promoted)


# Sudden ends


DYING = """
import os, pathlib, signal, sys
sys.path[:0] = sys.argv[1], sys.argv[2]
from conftest import House, ScriptedRunner, SteppingClock, make_market

class Dying(ScriptedRunner):
    def run(self, *_):
        os.kill(os.getpid(), signal.SIGKILL)

house = House(home=pathlib.Path(sys.argv[3]), market=make_market(), clock=SteppingClock())
house.promote(house.pool.get("p-0001"), Dying())
"""


def test_a_process_killed_during_the_look_has_paid_and_the_same_look_is_taken_up(house):
    entry = house.add_entry()

    here = Path(__file__).parent
    command = [sys.executable, "-c", DYING, str(here), str(here.parents[1]), str(house.home)]
    assert subprocess.run(command, timeout=120).returncode == -signal.SIGKILL

    house.reopen()
    (charged,) = looks(house)
    assert charged.passed is None
    assert house.pool.decisions() == ()
    assert house.pool.get(entry.id).status is EntryStatus.CANDIDATE

    assert isinstance(house.promote(entry, by="Bob"), Promoted)
    (settled,) = looks(house)
    assert settled == replace(charged, passed=True)
    assert settled.by == "Ada"
    assert house.pool.decisions()[0].by == "Bob"


def test_a_stopped_look_counts_against_the_budget_while_it_waits(house, scripted):
    policy = LookPolicy(alpha=0.05)
    first, second = house.add_entry(), house.add_entry()
    stopped = scripted(outcome=CageOutcome(end=CageEnd.TIMED_OUT, reason="ran past 30 s of wall time"))
    refused = house.promote(first, stopped, policy=policy)
    assert refused.reason == (
        "the run on the vault was stopped (ran past 30 s of wall time); look 1 is charged, and asking again takes it "
        "up at no further cost"
    )
    assert "have spent 0.05" in house.promote(second, policy=policy).reason
    assert isinstance(house.promote(first, policy=policy), Promoted)


@pytest.mark.parametrize("end", [CageEnd.OUT_OF_MEMORY, CageEnd.FORBIDDEN, CageEnd.CPU_EXCEEDED, CageEnd.BROKEN_RESULT])
def test_an_end_that_is_the_sources_own_doing_fails_the_look(house, scripted, end):
    entry = house.add_entry()
    assert isinstance(house.promote(entry, scripted(outcome=CageOutcome(end=end, reason="own doing"))), LookFailed)


def test_a_source_that_was_killed_in_the_gates_has_not_failed_its_look(house, scripted):
    """Gate two runs the source as well, and a busy machine can stop it there."""
    entry = house.add_entry()
    found = Finding(gate=2, rule="killed-in-load", line=1, column=1, message="loading was killed", hint="wait")
    refused = house.promote(entry, scripted(verdict=Rejected(source=entry.source, gate=2, findings=(found,))))
    assert "asking again takes it up at no further cost" in refused.reason


def test_a_stopped_look_is_taken_up_on_its_own_bars_when_the_vault_has_grown(house, scripted, grown):
    entry = house.add_entry()
    stopped = scripted(outcome=CageOutcome(end=CageEnd.KILLED, reason="was killed by a signal"))
    house.promote(entry, stopped)
    (before,) = looks(house)
    house.market = grown(1_900)
    assert isinstance(house.promote(entry), Promoted)
    (after,) = looks(house)
    assert after.intervals == before.intervals


def test_a_stopped_look_whose_bars_are_gone_is_not_taken_up_on_others(house, scripted):
    entry = house.add_entry()
    stopped = scripted(outcome=CageOutcome(end=CageEnd.KILLED, reason="was killed by a signal"))
    house.promote(entry, stopped)
    vault = house.market.vault
    short = replace(vault, bars={name: bars.between(0, 500) for name, bars in vault.bars.items()})
    short = replace(short, cells=tuple(replace(cell, stop=500) for cell in vault.cells))
    refused = house.promote(entry, open_vault=lambda: short)
    assert "has had its look at the vault (look 1 of 2026-11-30), and there is one per entry" in refused.reason


def test_a_decision_made_while_the_look_was_taken_stands(house, scripted):
    entry = house.add_entry()

    class Meanwhile(scripted):
        def run(self, *arguments):
            house.pool.decline(entry.id, by="Bob", reason="I do not like it")
            return super().run(*arguments)

    refused = house.promote(entry, Meanwhile())
    assert refused == PromotionRefused(reason="entry p-0001 became declined while its look was taken")
    assert [decision.kind for decision in house.pool.decisions()] == [DecisionKind.DECLINED]


# Declining and retiring


def test_a_candidate_can_be_declined_and_a_promoted_entry_retired(house):
    first, second = house.add_entry(), house.add_entry()
    declined = house.pool.decline(first.id, by="Ada", reason="trades too much for me")
    house.promote(second)
    retired = house.pool.retire(second.id, by="Ada", reason="the venue closed")
    assert (declined.entry.status, retired.entry.status) == (EntryStatus.DECLINED, EntryStatus.RETIRED)
    assert [decision.number for decision in house.pool.decisions()] == [1, 2, 3]
    assert house.pool.list(EntryStatus.RETIRED) == (retired.entry,)


def test_there_is_no_way_back(house):
    entry = house.add_entry()
    assert house.pool.retire(entry.id, by="Ada", reason="why not") == NotPossible(
        reason="entry p-0001 is candidate; only what is promoted can be retired"
    )
    house.pool.decline(entry.id, by="Ada", reason="no")
    assert house.pool.decline(entry.id, by="Ada", reason="no") == NotPossible(
        reason="entry p-0001 is declined; only what is candidate can be declined"
    )
    assert "is declined; only a candidate can be promoted" in house.promote(entry, open_vault=must_not_happen).reason


def test_a_look_policy_that_makes_no_sense_is_refused():
    for changes in ({"alpha": 0.0}, {"alpha": 0.06}, {"budget": 1.0}, {"max_drawdown": 0.0}, {"min_bars": 0}):
        with pytest.raises(ValueError, match="look policy"):
            LookPolicy(**changes)


# The log


@pytest.fixture
def decided(house):
    first, second = house.add_entry(), house.add_entry()
    house.pool.decline(first.id, by="Ada", reason="no")
    house.promote(second)
    house.pool.retire(second.id, by="Ada", reason="enough")
    assert house.pool.verify_chain().problem is None
    return house


def test_a_whole_log_verifies_and_names_its_head(decided):
    report = decided.pool.verify_chain()
    assert (report.decisions, report.problem) == (3, None)
    assert report.head == decided.pool.decisions()[-1].hash


def test_an_empty_log_verifies(house):
    assert asdict(house.pool.verify_chain()) == {"decisions": 0, "signed": 0, "head": "0" * 64, "problem": None}


@pytest.mark.parametrize(
    "change",
    [
        "by = '\"Eve\"'",
        "reason = '\"yes\"'",
        "decision = 'declined'",
        "at = '2026-11-30 00:00:00.000000'",
        "entry = 1",
        "source_sha256 = 'x'",
        "dataset_sha256 = 'x'",
        "config_hash = 'x'",
        "engine_version = 'x'",
        "look = 7",
    ],
)
def test_a_changed_decision_is_noticed(decided, change):
    with writing(decided.engine) as session:
        session.execute(text(f"UPDATE decision SET {change} WHERE number = 2"))
    assert decided.pool.verify_chain().problem == "decision 2 was changed after it was made"


def test_a_removed_decision_is_noticed(decided):
    with writing(decided.engine) as session:
        session.execute(text("DELETE FROM decision WHERE number = 2"))
    assert decided.pool.verify_chain().problem == "decision 2 is missing"
    with writing(decided.engine) as session:
        session.execute(text("UPDATE decision SET number = 2 WHERE number = 3"))
    assert decided.pool.verify_chain().problem == "decision 2 does not follow the one before"


def test_a_status_without_a_decision_is_noticed(decided):
    with writing(decided.engine) as session:
        session.execute(text("UPDATE pool_entry SET status = 'promoted' WHERE number = 1"))
    assert decided.pool.verify_chain().problem == "entry p-0001 is promoted, and the decisions leave it declined"


def test_a_log_whose_end_was_cut_off_contradicts_the_looks(decided):
    """Also when the statuses were set back to match."""
    with writing(decided.engine) as session:
        session.execute(text("DELETE FROM decision WHERE number > 1"))
        session.execute(text("UPDATE pool_entry SET status = 'candidate' WHERE number = 2"))
    assert decided.pool.verify_chain().problem == "look 1 was settled, and its decision is gone"


@pytest.mark.parametrize("change", ["UPDATE vault_look SET passed = 0", "DELETE FROM vault_look"])
def test_a_look_that_was_changed_contradicts_its_decision(decided, change):
    with writing(decided.engine) as session:
        session.execute(text(change))
    assert decided.pool.verify_chain().problem == "decision 2 is not what its look 1 came to"
