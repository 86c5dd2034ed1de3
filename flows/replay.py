"""Whether a replay came to what the run that it repeats had come to, candidate by candidate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evolution.trial import Trial


def strays(replayed: Mapping[str, Trial], trials: Mapping[str, Trial]) -> tuple[str, ...]:
    """Ids of candidates that ended otherwise than before, or are missing on one side, in order.

    Everything counts but the run's name and the seconds that were measured.
    """
    ids = sorted({*replayed, *trials})
    return tuple(identity for identity in ids if not _is_same(replayed.get(identity), trials.get(identity)))


def in_words(run_id: str, replayed: Mapping[str, Trial], trials: Mapping[str, Trial]) -> str:
    """One line for people."""
    stray = strays(replayed, trials)
    if not stray:
        return f"replay of {run_id}: all {len(trials)} candidates came out as before"
    return f"replay of {run_id}: {len(stray)} of {len(trials)} candidates came out otherwise, the first is {stray[0]}"


def _is_same(before: Trial | None, after: Trial | None) -> bool:
    if before is None or after is None:
        return False
    candidate = replace(after.candidate, run_id=before.candidate.run_id)
    return replace(after, candidate=candidate, cpu_s=before.cpu_s, wall_s=before.wall_s) == before
