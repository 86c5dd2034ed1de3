"""A candidate's ancestry: the tree that it grew on, and what each step along its first parents changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.morning.diff import DiffLine, difference
from evolution.story import lineage_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evolution.trial import Trial

# A tree that a person can follow with a finger, on a phone too.
_MOST_RELATIVES = 24
_MOST_STEPS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """One candidate of the tree."""

    id: str
    generation: int
    parents: tuple[str, ...]
    """Those that are in the tree, too."""
    operator: str
    outcome: str
    score: float | None
    is_on_the_line: bool
    """Whether the way from the starter to the candidate, along first parents, leads over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the way from the starter."""

    id: str
    operator: str
    detail: str
    outcome: str
    score: float | None
    other_parents: tuple[str, ...]
    """Parents besides the one before."""
    changes: tuple[DiffLine, ...]
    """Against the parent before; empty for the starter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Where a candidate came from."""

    relatives: tuple[Relative, ...]
    """Oldest first; the candidate itself is the last one."""
    left_out: int
    """Ancestors beyond what is shown."""
    steps: tuple[Step, ...]
    """From the starter, or from as far back as is shown, to the candidate."""


def family_of(trial: Trial, trials: Mapping[str, Trial]) -> Family:
    """The ancestry of a candidate inside its run.

    Args:
        trial: whose.
        trials: of the run, by id.
    """
    line = lineage_of(trial, trials)
    ancestors = _ancestors(trial, trials)
    # Those on the line first, then nearest generations first: what is cut is the farthest side branch.
    on_line = {each.candidate.id for each in line}
    ranked = sorted(
        ancestors.values(),
        key=lambda each: (each.candidate.id not in on_line, -each.candidate.generation, each.candidate.index),
    )
    chosen = {each.candidate.id: each for each in ranked[:_MOST_RELATIVES]}
    relatives = [
        _relative(each, chosen, is_on_the_line=each.candidate.id in on_line)
        for each in sorted(chosen.values(), key=lambda each: (_depth(each), each.candidate.id))
    ]
    return Family(
        relatives=tuple(relatives),
        left_out=len(ancestors) - len(chosen),
        steps=tuple(_step(each, trials) for each in line[-_MOST_STEPS:]),
    )


def _depth(trial: Trial) -> tuple[int, int]:
    return trial.candidate.generation, trial.candidate.index


def _ancestors(trial: Trial, trials: Mapping[str, Trial]) -> dict[str, Trial]:
    found = {trial.candidate.id: trial}
    frontier = [trial]
    while frontier:
        parents = {each for one in frontier for each in one.candidate.provenance.parents}
        frontier = [trials[each] for each in sorted(parents) if each in trials and each not in found]
        found |= {each.candidate.id: each for each in frontier}
    return found


def _relative(trial: Trial, chosen: Mapping[str, Trial], *, is_on_the_line: bool) -> Relative:
    candidate = trial.candidate
    return Relative(
        id=candidate.id,
        generation=candidate.generation,
        parents=tuple(
            each for each in dict.fromkeys(candidate.provenance.parents) if each in chosen and each != candidate.id
        ),
        operator=candidate.provenance.operator,
        outcome=trial.outcome.value,
        score=_score(trial),
        is_on_the_line=is_on_the_line,
    )


def _step(trial: Trial, trials: Mapping[str, Trial]) -> Step:
    candidate = trial.candidate
    parents = candidate.provenance.parents
    first = trials.get(parents[0]) if parents else None
    return Step(
        id=candidate.id,
        operator=candidate.provenance.operator,
        detail=candidate.provenance.detail,
        outcome=trial.outcome.value,
        score=_score(trial),
        other_parents=tuple(each for each in parents[1:] if each != parents[0]),
        changes=() if first is None else difference(first.candidate.source.text, candidate.source.text),
    )


def _score(trial: Trial) -> float | None:
    return None if trial.scorecard is None else trial.scorecard.score
