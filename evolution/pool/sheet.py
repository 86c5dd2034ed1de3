"""An entry's evidence as text, in the order in which somebody should read it who is going to answer for it.

First what a decision would hold for, then what should give pause, then every check with its figure, and at the end what none of this
can say. Lines are plain text; what a model may have written is escaped by whoever prints them.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from evolution.pool.checks import CHECKS
from evolution.pool.exhibits import AdmissionLimits, Stage
from evolution.pool.looks import LookPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evolution.pool.card import CheckResult, EvidenceNote
    from evolution.pool.entry import PoolEntry

_WIDTH = 110

HEADINGS = {
    Stage.TRAIN: "on train, as the search scored it",
    Stage.DEFLATION: "on train, against the luck of all trials",
    Stage.STRESS: "on train, under worse conditions",
    Stage.NEIGHBOURS: "on train, with other numbers and on shaken bars",
    Stage.PROOF: "on train, bar by bar in a process that holds no bars",
    Stage.READ: "the right to read validation",
    Stage.VALIDATION: "on validation, which the search never saw and which was read once",
}
"""Where the figures of a stage come from, in words."""


def sheet_lines(entry: PoolEntry) -> tuple[str, ...]:
    """The evidence sheet of an entry, without its decisions and its source."""
    return (
        *_identity(entry),
        "",
        *_pause(entry),
        "",
        *_checks(entry.card.checks),
        "",
        *_others(entry.card.notes),
        *_limits(entry),
    )


def _identity(entry: PoolEntry) -> Iterator[str]:
    binding = entry.binding
    yield f"What a decision on {entry.id} holds for, and for nothing else"
    yield f"  source         {entry.source.sha256}"
    yield f"  data           {binding.dataset}, {binding.dataset_sha256[:16]}"
    yield f"  configuration  {binding.config_hash[:16]}"
    yield f"  engine         {binding.engine_version}"
    yield f"  found as       {entry.candidate_id} of run {entry.run_id}, admitted {entry.created:%Y-%m-%d %H:%M} UTC"


def _pause(entry: PoolEntry) -> Iterator[str]:
    alarms = [note.sentence for note in entry.card.notes if note.is_alarming]
    if entry.models:
        alarms.insert(0, f"not blind: models that have read the past are in its ancestry ({', '.join(entry.models)})")
    if not alarms:
        yield "Nothing raised an alarm" if entry.card.notes else "Admitted before there were notes: less is known of it"
        return
    yield "Look here first"
    for alarm in alarms:
        yield from _item("!", alarm)


def _checks(checks: Sequence[CheckResult]) -> Iterator[str]:
    passed = sum(check.passed for check in checks)
    yield f"Checks: {passed} of {len(checks)} passed"
    stages = {check.name: check.stage for check in CHECKS}
    for stage in Stage:
        own = [check for check in checks if stages.get(check.name) is stage]
        if own:
            yield f"  {HEADINGS[stage]}"
        for check in own:
            yield from _item("passed" if check.passed else "REFUSED", check.sentence, indent=4)
    # A check that has been renamed or dropped since is still part of what the entry was admitted by.
    for check in checks:
        if check.name not in stages:
            yield from _item("passed" if check.passed else "REFUSED", f"{check.name}: {check.sentence}", indent=4)


def _others(notes: Sequence[EvidenceNote]) -> Iterator[str]:
    calm = [note for note in notes if not note.is_alarming]
    if calm:
        yield "What else is known (no check depends on it)"
        for note in calm:
            yield from _item("-", note.sentence)
        yield ""


def _limits(entry: PoolEntry) -> Iterator[str]:
    limits, policy = AdmissionLimits(), LookPolicy()
    yield "What this cannot say"
    yield from _item("-", "Everything on train was searched: whoever won there looks better than it is.")
    yield from _item(
        "-",
        f"A source without any skill passes the last check with a probability of {1 - limits.min_validation_psr:.0%}: validation is a "
        "screen. Only the look of a promotion is a proof, at bars that no search, prompt or report has seen.",
    )
    yield from _item(
        "-",
        f"That look is spent whatever comes of it: one costs {policy.alpha:g} of an error budget of {policy.budget:g} on these bars, "
        f"and a source without skill passes it with a probability of {policy.alpha:g}. A failed look declines {entry.id} for good.",
    )
    yield from _item(
        "-", "Bars of the past say nothing of fills, borrowing and liquidity in a market that trades back."
    )


def _item(mark: str, sentence: str, *, indent: int = 2) -> list[str]:
    begin = f"{' ' * indent}{mark}  "
    return textwrap.wrap(
        sentence,
        width=_WIDTH,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
