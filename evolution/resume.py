"""Taking up a run where it was cut short: the search hears of everything that is stored, and the store of what was not written yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.run import GenerationSummary
from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evolution.ledger import TrialLedger
    from evolution.search import Search
    from evolution.trial import Trial


def summary_of(search: Search, generation: int, trials: Sequence[Trial]) -> GenerationSummary:
    """A generation at a glance, just after the search was told all of it."""
    counts = {outcome.value: sum(trial.outcome is outcome for trial in trials) for outcome in TrialOutcome}
    return GenerationSummary(generation=generation, hypervolume=search.volume if search.front else None, counts=counts)


def take_up(search: Search, ledger: TrialLedger, run_id: str, trials: Iterable[Trial]) -> None:
    """Tell a fresh search the stored trials, generation by generation.

    A kill may fall between the last trial of a generation and its summary; such a summary is written now.

    Raises:
        ValueError: the trials do not belong to this search.
    """
    by_generation: dict[int, list[Trial]] = {}
    for trial in trials:
        by_generation.setdefault(trial.candidate.generation, []).append(trial)
    written = {summary.generation for summary in ledger.generations(run_id)}
    for number, own in sorted(by_generation.items()):
        search.replay(own)
        if search.generation > number and number not in written:
            ledger.add_generation(run_id, summary_of(search, number, own))
