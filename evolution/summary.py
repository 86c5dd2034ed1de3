"""What is stored about a run, gathered for its report: ``run_summary``.

Stored values only, so a report of an old run always reads the same; ``evolution.report`` and ``evolution.morning`` put them in words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evolution.afterwards import ValidationReport, validation_report
from evolution.llm.spending import Spending
from evolution.pool.checks import CHECKS
from evolution.story import MemoryCount, OperatorCount, lineage_of, memory_of, operators_of
from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evolution.ledger import TrialLedger
    from evolution.pool import Pool, PoolEntry, Refusal
    from evolution.run import FindingCount, Funnel, GenerationSummary, RunRecord
    from evolution.trial import Trial

_BEST = 5
_OPERATORS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRefusals:
    """How one admission check went over a run."""

    check: str
    candidates: int
    """Candidates that it refused."""
    nearest: Refusal
    """The refused figure that came nearest to the limit; undefined figures are farthest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """All that a report of one run says."""

    record: RunRecord
    funnel: Funnel
    best: tuple[Trial, ...]
    """SCORED trials with the highest seed scores, best first."""
    findings: tuple[FindingCount, ...]
    """The rules that refused most candidates."""
    generations: tuple[GenerationSummary, ...]
    refusals: tuple[CheckRefusals, ...]
    """In the order of the checks."""
    refused: int
    """Candidates that were considered for the pool and not admitted."""
    entries: tuple[PoolEntry, ...]
    """Pool entries that came from this run."""
    known: tuple[str, ...] = ()
    """Pool entries of other runs whose very source this run scored, too."""
    spending: Spending = field(default_factory=lambda: Spending(profiles=()))
    """What its calls to models used."""
    is_cut_short: bool = False
    """Nobody works on it any more, though nobody wrote down an end: its process was killed."""
    memory: MemoryCount = field(default_factory=MemoryCount)
    """What was not evaluated again."""
    operators: tuple[OperatorCount, ...] = ()
    """The most useful ones first."""
    validation: ValidationReport | None = None
    """What admission's reads came to; None when it read nobody."""
    lineage: tuple[Trial, ...] = ()
    """From a starter to the candidate with the highest seed score."""


def run_summary(
    ledger: TrialLedger,
    pool: Pool,
    run_id: str,
    *,
    is_cut_short: bool = False,
    trials: Sequence[Trial] | None = None,
) -> RunSummary:
    """Gather what is stored about a run.

    Args:
        ledger: holds the run.
        pool: of the same store.
        run_id: its id, or the beginning of it.
        is_cut_short: what the caller knows of the run's process; the store does not.
        trials: all of the run, where the caller has read them already.

    Raises:
        UnknownIdError: There is no such run.
    """
    record = ledger.run(run_id)
    refusals = pool.refusals(record.id)
    trials = ledger.trials(record.id) if trials is None else trials
    best = best_trials(trials)
    return RunSummary(
        record=record,
        funnel=ledger.funnel(record.id),
        best=best,
        memory=memory_of(trials),
        operators=operators_of(trials)[:_OPERATORS],
        lineage=lineage_of(best[0], {trial.candidate.id: trial for trial in trials}) if best else (),
        findings=ledger.frequent_findings(record.id),
        generations=ledger.generations(record.id),
        refusals=refusals_by_check(refusals),
        validation=validation_report(pool.validation_reads(record.id)),
        refused=len({refusal.candidate_id for refusal in refusals}),
        entries=pool.list(run_id=record.id),
        known=_known(pool, record, trials),
        spending=ledger.spending(record.id),
        is_cut_short=is_cut_short,
    )


def _known(pool: Pool, record: RunRecord, trials: Sequence[Trial]) -> tuple[str, ...]:
    scored = {trial.candidate.source.sha256 for trial in trials if trial.outcome is TrialOutcome.SCORED}
    return tuple(
        entry.id
        for entry in pool.list()
        if entry.run_id != record.id
        and entry.source.sha256 in scored
        and entry.binding.dataset_sha256 == record.facts.dataset_sha256
    )


def best_trials(trials: Iterable[Trial], *, limit: int = _BEST) -> tuple[Trial, ...]:
    """SCORED trials by seed score, best first; equal ones in order of their ids."""
    scored = [
        (trial.scorecard.score, trial)
        for trial in trials
        if trial.outcome is TrialOutcome.SCORED and trial.scorecard is not None and trial.scorecard.score is not None
    ]
    ranked = sorted(scored, key=lambda pair: (-pair[0], pair[1].candidate.id))
    return tuple(trial for _, trial in ranked[:limit])


def refusals_by_check(refusals: Sequence[Refusal]) -> tuple[CheckRefusals, ...]:
    """Refusals per check, in the order in which the checks are made."""
    order = {check.name: place for place, check in enumerate(CHECKS)}
    counts = Counter(refusal.check for refusal in refusals)
    names = sorted(counts, key=lambda name: (order.get(name, len(order)), name))
    return tuple(
        CheckRefusals(
            check=name,
            candidates=counts[name],
            nearest=min((each for each in refusals if each.check == name), key=refusal_distance),
        )
        for name in names
    )


def refusal_distance(refusal: Refusal) -> tuple[bool, float, str]:
    """Sorts refusals by how near their figure came to the limit; undefined figures are farthest."""
    is_undefined = refusal.figure is None
    return is_undefined, abs((refusal.figure or 0.0) - refusal.limit), refusal.candidate_id
