"""``run_trial``: one candidate through the gates, the cage and the score, to the record that is kept for ever.

A plain function of its arguments. What runs the candidate is passed in as an ``Evaluator``; in a night that is ``CageEvaluator``,
which hands the source to ``gates.evaluate``. Whatever comes back is turned into a value here: a refusal, a kill, a failure and a veto are
outcomes, never exceptions, and never a score.

A child tells what its strategy asked for and no more: ``runtime.kernel.decode_report`` has made every fill and figure of the reports
here, from the requests and the bars. The cells, their bars, the first bar that counts and buy and hold are our own anyway.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from evolution.foresight import looks_ahead
from evolution.record import active_record
from evolution.trial import Trial, TrialOutcome
from fitness import CellResult, measure, score_cells, trade_digest
from fitness.objectives import DEFAULT_RULES, ScoreRules
from gates import CellJob, Rejected, evaluate
from runtime.cage import CageEnd, CageLimits
from runtime.kernel import RunEnd, buy_and_hold
from runtime.market import WARMUP_BARS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.candidate import Candidate
    from evolution.foresight import NoiseBench, Suspicion
    from fitness import Metrics, Scorecard
    from gates import Evaluation
    from runtime.cage import Cage
    from runtime.kernel import RunConfig, RunReport
    from runtime.market import Bars, Cell
    from runtime.source import StrategySource


class Evaluator(Protocol):
    """Judges a source and runs it over the cells of a bench.

    May be called from several threads at once. The same source gives the same reports, in the order of the bench's cells. It
    returns for every source, however hostile, and raises only when the machine or the caller is broken.
    """

    def evaluate(self, source: StrategySource) -> Evaluation:
        """Gates first; if they admit the source, one run per cell."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCell:
    """A cell ready to run: its bars with their warm-up, how to run them, and what buy and hold made of them."""

    cell: Cell
    job: CellJob
    bars: Bars
    """The warm-up rows, then the cell's own rows."""
    config: RunConfig
    """``config.start`` is the first of the cell's own rows, the first that is traded and scored."""
    buy_and_hold: Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBench:
    """All cells that a candidate is tried on, with the benchmark of each. Made once, shared by all trials."""

    cells: tuple[BenchCell, ...]
    config: RunConfig
    """What all runs have in common; ``start`` differs from cell to cell."""

    @classmethod
    def build(cls, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig) -> CellBench:
        """Cut the bars and run buy and hold once per cell: same kernel, bars, cash, fees and first tradable bar.

        Args:
            bars: by symbol, reaching at least to the end of each cell.
            cells: what is traded and scored, in rows of the symbol's bars.
            config: cash, costs and account; its ``start`` is replaced cell by cell.

        Raises:
            ValueError: there are no cells, or a cell does not lie within its bars.
        """
        if not cells:
            raise ValueError("a bench needs at least one cell")
        return cls(cells=tuple(_bench_cell(bars[cell.symbol], cell, config) for cell in cells), config=config)

    @property
    def jobs(self) -> tuple[CellJob, ...]:
        """What ``gates.evaluate`` is asked to run, in order."""
        return tuple(each.job for each in self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class CageEvaluator:
    """Evaluates in a gate cage that was opened with the bars that the bench's jobs name (``gates.open_gate_cage``)."""

    cage: Cage
    bench: CellBench | NoiseBench
    limits: CageLimits = field(default_factory=CageLimits)

    def evaluate(self, source: StrategySource) -> Evaluation:
        """Gates one to three, then all cells in one caged child."""
        return evaluate(source, self.cage, self.bench.jobs, self.bench.config, self.limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foresight:
    """The check for look-ahead, ready for use: see ``evolution.foresight``."""

    noise: NoiseBench
    evaluator: Evaluator
    """Runs a source over the jobs of ``noise``."""

    @classmethod
    def in_cage(cls, cage: Cage, noise: NoiseBench, limits: CageLimits) -> Foresight:
        """In a gate cage that was opened with ``noise.bars`` and nothing else."""
        return cls(noise=noise, evaluator=CageEvaluator(cage=cage, bench=noise, limits=limits))

    def suspicion(self, source: StrategySource, reports: Sequence[RunReport]) -> Suspicion | None:
        """Whether the orders in ``reports``, one per cell of the bench, depend on bars that came after them."""
        return looks_ahead(source, reports, self.noise, self.evaluator)


def run_trial(
    candidate: Candidate,
    evaluator: Evaluator,
    bench: CellBench,
    *,
    rules: ScoreRules = DEFAULT_RULES,
    foresight: Foresight | None = None,
) -> Trial:
    """Try one candidate on the bench.

    Args:
        candidate: what to try.
        evaluator: runs it over ``bench.cells``, in their order.
        bench: cells and benchmarks.
        rules: limits and weights of the scorecard.
        foresight: what a candidate that would be SCORED is checked with for look-ahead; None leaves the check out.
    """
    evaluation = evaluator.evaluate(candidate.source)
    outcome = evaluation.outcome
    cpu_s, wall_s = (0.0, 0.0) if outcome is None else (outcome.cpu_s, outcome.wall_s)

    def ended(kind: TrialOutcome, reason: str) -> Trial:
        return Trial(candidate=candidate, outcome=kind, reason=reason, cpu_s=cpu_s, wall_s=wall_s)

    if isinstance(evaluation.verdict, Rejected):
        verdict = evaluation.verdict
        return Trial(
            candidate=candidate,
            outcome=TrialOutcome.REJECTED,
            reason=verdict.reason,
            gate=verdict.gate,
            findings=verdict.findings,
            cpu_s=cpu_s,
            wall_s=wall_s,
        )
    if outcome is None or outcome.end is not CageEnd.FINISHED:
        return ended(TrialOutcome.KILLED, "the cage gave no outcome" if outcome is None else outcome.reason)
    reports = evaluation.reports
    if len(reports) != len(bench.cells):
        return ended(TrialOutcome.FAILED, f"{len(reports)} reports came back for {len(bench.cells)} cells")
    for each, report in zip(bench.cells, reports, strict=True):
        if report.end is not RunEnd.FINISHED:
            return ended(TrialOutcome.FAILED, f"{each.cell.fold}: {_failure(report)}")
    card = score_cells(
        [_result(each, report) for each, report in zip(bench.cells, reports, strict=True)],
        rules,
    )
    # Only what would take part in selection: a vetoed candidate cannot enter the pool, and its offspring is checked in turn.
    suspicion = None if foresight is None or card.vetoes else foresight.suspicion(candidate.source, reports)
    if suspicion is not None:
        return ended(TrialOutcome.KILLED if suspicion.is_kill else TrialOutcome.FAILED, suspicion.reason)
    return Trial(
        candidate=candidate,
        outcome=TrialOutcome.VETOED if card.vetoes else TrialOutcome.SCORED,
        reason="; ".join(card.vetoes) or _in_words(card),
        scorecard=card,
        behaviour=behaviour_digest(reports),
        record=active_record(bench.cells, reports),
        cpu_s=cpu_s,
        wall_s=wall_s,
    )


def behaviour_digest(reports: Sequence[RunReport]) -> str:
    """Hex sha256 of the order logs in order of cells: equal digests mean that the same was asked for on the same bars."""
    logs = [[(entry.row, entry.action) for entry in report.order_log] for report in reports]
    return hashlib.sha256(json.dumps(logs, separators=(",", ":")).encode()).hexdigest()


def _bench_cell(bars: Bars, cell: Cell, config: RunConfig) -> BenchCell:
    if not 0 <= cell.start < cell.stop <= len(bars):
        raise ValueError(f"cell {cell.fold} of {cell.symbol}: rows {cell.start}..{cell.stop} of {len(bars)} bars")
    warmup = min(WARMUP_BARS, cell.start)
    job = CellJob(key=cell.symbol, start=cell.start, stop=cell.stop, warmup=warmup)
    rows = job.bars(bars)
    run = replace(config, start=warmup)
    benchmark = buy_and_hold(rows, run, first_tradable_bar=warmup)
    return BenchCell(
        cell=cell,
        job=job,
        bars=rows,
        config=run,
        buy_and_hold=measure(benchmark, rows, run, first=warmup),
    )


def _result(each: BenchCell, report: RunReport) -> CellResult:
    # Measured from the cell's first bar, not from the first bar on which the child says it was called: both sides cover the
    # same bars, and nobody can leave out a bad start.
    return CellResult(
        symbol=each.cell.symbol,
        fold=each.cell.fold,
        metrics=measure(report, each.bars, each.config, first=each.config.start),
        buy_and_hold=each.buy_and_hold,
        ruined=report.ruined,
        trading=trade_digest(report.trades),
    )


def _failure(report: RunReport) -> str:
    failure = report.failure
    if failure is None:
        return f"the run ended as {report.end.value}"
    place = "" if failure.line is None else f" at line {failure.line}"
    return f"{failure.exception} in {failure.hook}{place}: {failure.message}"


def _in_words(card: Scorecard) -> str:
    goals = card.objectives
    assert goals is not None  # undefined objectives are a veto
    comparison = "undefined"
    if card.score is not None and card.benchmark_score is not None:
        comparison = f"{card.score:.2f} against {card.benchmark_score:.2f} of buy and hold"
    return (
        f"Sharpe {goals.sharpe:.2f}, Calmar {goals.calmar:.2f}, turnover {goals.turnover:.1f} a year "
        f"(bounds over {len(card.cells)} cells); seed score {comparison}"
    )
