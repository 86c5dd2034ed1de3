"""What a run's trials say together: what memory spared, which operators paid, and how the best candidate came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evolution.trial import Trial

_RAN = frozenset({TrialOutcome.VETOED, TrialOutcome.SCORED})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCount:
    """What was not evaluated again."""

    redrawn: int = 0
    """Draws of operators that gave a source which the run had already, in text or in structure."""
    duplicates: int = 0
    """Candidates that traded like an earlier one of the run; ended half way."""
    recalled: int = 0
    """Candidates whose result an earlier night had found."""


class OperatorCount(NamedTuple):
    """How the children of one operator fared."""

    operator: str
    children: int
    scored: int
    better: int
    """Of those, children with a higher seed score than each parent that has one."""


def given_up(story: Mapping[str, Any]) -> str | None:
    """Why a run that was killed does not go on by itself any more; None when that was not decided."""
    reason = story.get("given_up")
    return None if not reason else f"it does not go on by itself: {reason}"


def going_on_lines(story: Mapping[str, Any]) -> list[str]:
    """How often a run that was killed went on by itself, and why no more; none for a run that nobody killed."""
    resumes, ending = story.get("resumes") or [], given_up(story)
    times = "once" if len(resumes) == 1 else f"{len(resumes)} times"
    told = [
        f"went on by itself {times}, last at {each['at'][:16].replace('T', ' ')} UTC: {each['reason']}"
        for each in resumes[-1:]
    ]
    return [*told, *([ending] if ending else [])]


def memory_of(trials: Iterable[Trial]) -> MemoryCount:
    """What a run's memory spared."""
    counted = list(trials)
    return MemoryCount(
        redrawn=sum(trial.candidate.redraws for trial in counted),
        duplicates=sum(trial.outcome is TrialOutcome.DUPLICATE for trial in counted),
        recalled=sum(trial.recalled is not None for trial in counted),
    )


def operators_of(trials: Sequence[Trial]) -> tuple[OperatorCount, ...]:
    """Operators by how many of their children were better than their parents, then by name; starters are left out."""
    by_id = {trial.candidate.id: trial for trial in trials}
    children: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.candidate.provenance.parents:
            children.setdefault(trial.candidate.provenance.operator, []).append(trial)
    counts = [
        OperatorCount(
            operator=operator,
            children=len(own),
            scored=sum(trial.outcome is TrialOutcome.SCORED for trial in own),
            better=sum(_is_better(trial, by_id) for trial in own),
        )
        for operator, own in children.items()
    ]
    return tuple(sorted(counts, key=lambda count: (-count.better, count.operator)))


def lineage_of(trial: Trial, trials: Mapping[str, Trial]) -> tuple[Trial, ...]:
    """From the starter to a candidate, along the first parents."""
    line = [trial]
    while line[-1].candidate.provenance.parents:
        parent = trials.get(line[-1].candidate.provenance.parents[0])
        if parent is None:
            break
        line.append(parent)
    return tuple(reversed(line))


def _is_better(trial: Trial, by_id: Mapping[str, Trial]) -> bool:
    score = _score(trial)
    if score is None or trial.outcome is not TrialOutcome.SCORED:
        return False
    parents = [by_id.get(identity) for identity in trial.candidate.provenance.parents]
    theirs = [value for parent in parents if parent is not None and (value := _score(parent)) is not None]
    return all(score > value for value in theirs)


def _score(trial: Trial) -> float | None:
    return trial.scorecard.score if trial.outcome in _RAN and trial.scorecard is not None else None
