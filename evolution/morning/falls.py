"""Where candidates fell, stage by stage and reason by reason: the funnel of a report."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evolution.trial import Trial

_MOST_REASONS = 8
# Reasons are compared without their figures; what a model wrote can be of any length, and the beginning tells kinds apart.
_COMPARED = 120
_FIGURE = re.compile(r"g\d{3,}-c\d{3,}|[-+]?\d+(?:[.,]\d+)*%?")


class Reason(NamedTuple):
    """One kind of reason at one stage."""

    candidates: int
    """Candidates that it was given for."""
    words: str
    """As it was given to the first of them."""
    example: str
    """Id of that one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of the funnel."""

    name: str
    came: int
    """Candidates that reached it."""
    fell: int
    """Of those, the ones that it ended for."""
    reasons: tuple[Reason, ...]
    """Most frequent first. A candidate with several reasons counts for each."""
    other: int
    """How many more kinds of reasons there are."""


def funnel_stages(trials: Sequence[Trial]) -> tuple[Stage, ...]:
    """The stages in the order in which a candidate meets them; who is left after the last one was scored."""
    left, stages = len(trials), []
    for name, fallen in _fallen(trials):
        kinds = _kinds(fallen)
        stages.append(
            Stage(
                name=name,
                came=left,
                fell=len(fallen),
                reasons=tuple(kinds[:_MOST_REASONS]),
                other=max(0, len(kinds) - _MOST_REASONS),
            )
        )
        left -= len(fallen)
    return tuple(stages)


def _fallen(trials: Sequence[Trial]) -> Iterable[tuple[str, list[Trial]]]:
    def ended(outcome: TrialOutcome, gate: int | None = None) -> list[Trial]:
        return [trial for trial in trials if trial.outcome is outcome and (gate is None or trial.gate == gate)]

    return (
        ("a source came into being", ended(TrialOutcome.BARREN)),
        ("gate 1, its syntax", ended(TrialOutcome.REJECTED, 1)),
        ("gate 2, loaded in a sandbox", ended(TrialOutcome.REJECTED, 2)),
        ("gate 3, the contract", ended(TrialOutcome.REJECTED, 3)),
        ("the cage let it finish", ended(TrialOutcome.KILLED)),
        ("it ran without an error", ended(TrialOutcome.FAILED)),
        ("it trades like no earlier one", ended(TrialOutcome.DUPLICATE)),
        ("its run went on to the end", ended(TrialOutcome.STOPPED)),
        ("it keeps to the limits", ended(TrialOutcome.VETOED)),
    )


def _kinds(fallen: Sequence[Trial]) -> list[Reason]:
    counts: Counter[str] = Counter()
    first: dict[str, tuple[str, str]] = {}
    for trial in fallen:
        own = {_kind(words): words for words in _reasons(trial)}
        counts.update(own.keys())
        for kind, words in own.items():
            first.setdefault(kind, (words, trial.candidate.id))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [Reason(count, *first[kind]) for kind, count in ranked]


def _reasons(trial: Trial) -> list[str]:
    if trial.scorecard is not None and trial.scorecard.vetoes:
        return list(trial.scorecard.vetoes)
    if trial.findings:
        return [f"{finding.rule}: {finding.message}" for finding in trial.findings[:_MOST_REASONS]]
    return [trial.reason]


def _kind(words: str) -> str:
    rule, colon, _ = words.partition(": ")
    # A finding's rule is its kind, whatever name or text its message quotes.
    if colon and re.fullmatch(r"[a-z0-9-]{3,40}", rule):
        return rule
    return _FIGURE.sub("#", words[:_COMPARED])
