"""When to stop: budgets that can be combined, asked before each generation. The first one that has a reason ends the search.

What ends a search by what it found (its generations, no improvement) belongs to ``evolution.search``, for it follows from the trials
alone. What is here depends on clocks and machines, so the moment is stored with the run, and a resume or a replay keeps to it.
Ceilings in tokens and money are the models' own (``evolution.llm.budget``) and pause a run instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evolution.plural import plural

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a run has used so far, and what its next generation would use."""

    candidates: int
    """Tried so far."""
    next_candidates: int
    """Places of the next generation."""
    cpu_s: float
    """Processor time of all candidates' children, in seconds; recalled ones cost nothing."""
    now: datetime
    """Aware."""
    next_s: float
    """Wall time that the next generation is expected to take, in seconds; 0 while there is none to go by."""
    admission_s: float
    """Wall time that admission is expected to take, in seconds."""


class Stop(Protocol):
    """One budget."""

    def reason(self, progress: Progress) -> str | None:
        """Why no further generation begins, as a clause; None while one may."""
        ...


@dataclass(frozen=True, slots=True)
class CandidateBudget:
    """At most so many candidates; a generation that does not fit whole is not begun."""

    most: int

    def reason(self, progress: Progress) -> str | None:
        """See ``Stop``."""
        if progress.candidates + progress.next_candidates <= self.most:
            return None
        return f"{plural(progress.candidates, 'candidate was', 'candidates were')} tried, and another generation would pass {self.most}"


@dataclass(frozen=True, slots=True)
class CpuBudget:
    """At most so many seconds of processor time for candidates; the generation in which it runs out is finished."""

    most_s: float

    def reason(self, progress: Progress) -> str | None:
        """See ``Stop``."""
        if progress.cpu_s < self.most_s:
            return None
        return f"candidates used {progress.cpu_s:.0f} s of processor time, and {self.most_s:.0f} s were allowed"


@dataclass(frozen=True, slots=True)
class Deadline:
    """Be done by a moment, admission included."""

    at: datetime

    def reason(self, progress: Progress) -> str | None:
        """See ``Stop``."""
        left = (self.at - progress.now).total_seconds()
        needed = progress.next_s + progress.admission_s
        if left > needed:
            return None
        if left <= 0:
            return f"{self.shown} has come"
        return (
            f"another generation and admission need about {needed:.0f} s, and {self.shown} is {max(left, 0):.0f} s away"
        )

    def is_over(self, now: datetime, admission_s: float) -> bool:
        """Whether only the time for admission is left: what has not begun by then is not tried."""
        return (self.at - now).total_seconds() <= admission_s

    @property
    def shown(self) -> str:
        """The moment as people wrote it."""
        return f"{self.at:%H:%M}"


def first_reason(stops: Iterable[Stop], progress: Progress) -> str | None:
    """Why the search ends now; None while it goes on."""
    return next((reason for stop in stops if (reason := stop.reason(progress)) is not None), None)
