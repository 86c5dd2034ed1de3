"""What a search's front is worth on validation, asked once, after the search has stopped. For the report; nothing is bred from it.

Each member that is looked at counts as a read of validation like any other (``evolution.pool.readings``): its verdict is kept, and an
admission of the same source later uses that verdict instead of reading again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from evolution.evaluate import scorecard_of
from evolution.interval import intervals_of
from evolution.pool.segment import SegmentFigures, read_validation
from evolution.selection import hypervolume
from fitness.objectives import DEFAULT_RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.pool.entry import Binding
    from evolution.pool.readings import ValidationReads
    from evolution.pool.segment import Runner, Segment
    from evolution.trial import Trial
    from runtime.kernel import RunConfig
    from runtime.market import DataSet

MOST = 5
"""Members of a front that are looked at: those with the best seed scores on train."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReport:
    """One arm of a search, on train and on validation."""

    run_id: str
    evaluations: int
    """Candidates that were tried, recalled ones included."""
    front: int
    """Members of its front on train."""
    train_volume: float
    """Hypervolume of that front."""
    best_train_score: float | None
    """Highest seed score on the front; None when the front is empty."""
    looked_at: int
    """Members that were read on validation."""
    validation_volume: float
    """Hypervolume of those that keep to the drawdown limit there."""
    best_validation_score: float | None
    """Seed score on validation of the one with the best on train."""
    validation_psr: float | None
    """Median over those looked at of the probability that the active Sharpe ratio is above 0; undefined ones count as 0."""

    def document(self) -> dict[str, Any]:
        """For the store."""
        return asdict(self)


def validate_arm(  # noqa: PLR0913 - an arm, its data, and how it is run
    run_id: str,
    front: Sequence[Trial],
    *,
    evaluations: int,
    dataset: DataSet,
    runner: Runner,
    config: RunConfig,
    reads: ValidationReads,
    binding: Binding,
) -> ArmReport:
    """Look at the best members of a front on validation.

    Args:
        run_id: of the arm.
        front: on train.
        evaluations: candidates that the arm tried.
        dataset: of the run.
        runner: runs sources on rows of the set, validation included.
        config: as on train.
        reads: keeps the verdicts.
        binding: of the run.
    """
    chosen = sorted(front, key=lambda trial: (-_score(trial), trial.candidate.id))[:MOST]
    cells = dataset.validation_cells()
    intervals = intervals_of(dataset.bars, cells)
    ratios: list[float] = []
    cards = []
    for trial in chosen:
        if reads.permit(trial.candidate, intervals, binding).reads is None:
            continue
        source = trial.candidate.source
        found = reads.verdict(trial.candidate, intervals) or reads.record(
            trial.candidate, intervals, binding, read_validation(runner, source, dataset.bars, cells, config)
        )
        ratios.append(found.psr or 0.0 if isinstance(found, SegmentFigures) else 0.0)
        cards.append(scorecard_of(runner.run(source, dataset.bars, cells, config)))
    kept = [
        card.objectives for card in cards if card is not None and card.objectives and _is_bearable(card.max_drawdown)
    ]
    return ArmReport(
        run_id=run_id,
        evaluations=evaluations,
        front=len(front),
        train_volume=hypervolume(
            trial.scorecard.objectives for trial in front if trial.scorecard and trial.scorecard.objectives
        ),
        best_train_score=_score(chosen[0]) if chosen else None,
        looked_at=len(ratios),
        validation_volume=hypervolume(kept),
        best_validation_score=cards[0].score if cards and cards[0] is not None else None,
        validation_psr=median(ratios) if ratios else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationReport:
    """What the reads of validation that a run made say together."""

    reads: int
    """Sources that were read."""
    volume: float
    """Hypervolume of those that keep to the drawdown limit there."""


def validation_report(segments: Sequence[Segment]) -> ValidationReport | None:
    """Sum up the reads that admission made anyway; None when there was none.

    A read of the whole front for one figure would use up bars that a person may want to judge by, so the figure is of the few that
    came so far. It is no measure of the front: the others were never looked at.
    """
    if not segments:
        return None
    found = [each for each in segments if isinstance(each, SegmentFigures)]
    kept = [each.objectives for each in found if each.objectives is not None and _is_bearable(each.max_drawdown)]
    return ValidationReport(reads=len(segments), volume=hypervolume(kept))


def _is_bearable(drawdown: float) -> bool:
    # Round trips are fewer on a shorter stretch, so of the constraints only this one carries over.
    return drawdown <= DEFAULT_RULES.max_drawdown


def _score(trial: Trial) -> float:
    card = trial.scorecard
    return card.score if card is not None and card.score is not None else float("-inf")
