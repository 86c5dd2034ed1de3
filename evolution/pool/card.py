"""The admission card: every check with its figure, its limit and its verdict in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check on one candidate."""

    name: str
    """Stable id of the check, like ``validation-psr``."""
    figure: float | None
    """What was found; None where it is undefined, which never passes."""
    limit: float
    passed: bool
    sentence: str
    """Names the figure and the limit, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceNote:
    """A figure that a person should know before deciding; no check depends on it."""

    name: str
    """Stable id, like ``overfitting``."""
    figure: float | None
    """None where it is undefined."""
    is_alarming: bool
    sentence: str
    """The figure in words, and what it is to be held against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCard:
    """The checks that were made. Stages after the first failed one are not reached, and have no results."""

    checks: tuple[CheckResult, ...]
    notes: tuple[EvidenceNote, ...] = ()
    """For an entry; empty on a refusal, and on entries from before there were notes."""

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The checks that refused the candidate."""
        return tuple(check for check in self.checks if not check.passed)
