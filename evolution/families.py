"""Families: candidates that differ in nothing but their numbers, known by how they were made.

A child of an operator that only moves numbers has the form of its parent, so nobody has to read sources for it. What a family has
tried tells where to try next (``evolution.operators.tuning``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.operators import NUMERIC

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evolution.trial import Trial

MOST = 32
"""Members that are looked at, the newest: they lie where the search is now."""


class Families:
    """Who belongs together. Grows with the trials that it is shown, in order; ids only."""

    def __init__(self) -> None:
        self._founders: dict[str, str] = {}
        self._members: dict[str, list[str]] = {}

    def take_in(self, trials: Iterable[Trial]) -> None:
        """Take in trials of one more generation, in order of id."""
        for trial in trials:
            identity, provenance = trial.candidate.id, trial.candidate.provenance
            founder = identity
            if provenance.operator in NUMERIC and provenance.parents:
                founder = self._founders.get(provenance.parents[0], provenance.parents[0])
            self._founders[identity] = founder
            if trial.scorecard is not None and trial.scorecard.objectives is not None:
                self._members.setdefault(founder, []).append(identity)

    def relatives(self, candidate: str) -> tuple[str, ...]:
        """The newest members of a candidate's family that have objectives, oldest first; at first the candidate alone."""
        return tuple(self._members.get(self._founders.get(candidate, candidate), [])[-MOST:])
