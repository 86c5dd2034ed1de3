"""Which bad ends may have been the machine's doing: they say nothing about a source, so nothing is concluded from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.cage.outcome import CageEnd

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gates.findings import Finding

MACHINE_ENDS = frozenset({CageEnd.TIMED_OUT, CageEnd.KILLED, CageEnd.CRASHED})
"""Wall time depends on what else runs, and signals and crashes may come from outside. CPU time, memory, floods, forbidden
calls and broken results are the source's own."""
KILL_RULES = frozenset({"killed-in-load", "killed-in-dry-run"})
"""Rules of the gates that stand for a child that did not finish, however it ended."""


def is_kill(findings: Iterable[Finding]) -> bool:
    """Whether a rejection rests on a child that was ended, not on what the source says or does."""
    return any(finding.rule in KILL_RULES for finding in findings)
