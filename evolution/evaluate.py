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
from typing import TYPE_CHECKING

from evolution.foresight import looks_ahead
from evolution.niches import rhythm_of
from evolution.record import active_record
from evolution.trial import Trial, TrialOutcome
from fitness import CellResult, measure, score_cells, trade_digest
from fitness.objectives import DEFAULT_RULES, ScoreRules
from gates import Rejected, evaluate
from runtime.cage import CageEnd, CageLimits
from runtime.kernel import RunEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evolution.bench import BenchCell, BenchRun, CellBench, Evaluator
    from evolution.candidate import Candidate
    from evolution.cascade import Cascade, Halt
    from evolution.foresight import NoiseBench, Suspicion
    from fitness import Scorecard
    from gates import Evaluation
    from runtime.cage import Cage
    from runtime.kernel import RunReport
    from runtime.source import StrategySource


@dataclass(frozen=True, slots=True, kw_only=True)
class CageEvaluator:
    """Evaluates in a gate cage that was opened with the bars that the bench's jobs name (``gates.open_gate_cage``)."""

    cage: Cage
    bench: CellBench | NoiseBench
    limits: CageLimits = field(default_factory=CageLimits)
    is_known: bool = False
    """Its sources have been admitted by another evaluator, so the gates' dry run is left out."""

    def evaluate(
        self, source: StrategySource, *, goes_on: Callable[[Sequence[RunReport]], bool] | None = None
    ) -> Evaluation:
        """Gates one to three, then the cells in one caged child."""
        return evaluate(
            source,
            self.cage,
            self.bench.jobs,
            self.bench.config,
            self.limits,
            goes_on=goes_on,
            is_known=self.is_known,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Foresight:
    """The check for look-ahead, ready for use: see ``evolution.foresight``."""

    noise: NoiseBench
    evaluator: Evaluator
    """Runs a source over the jobs of ``noise``."""

    @classmethod
    def in_cage(cls, cage: Cage, noise: NoiseBench, limits: CageLimits) -> Foresight:
        """In a gate cage that was opened with ``noise.bars`` and nothing else."""
        return cls(noise=noise, evaluator=CageEvaluator(cage=cage, bench=noise, limits=limits, is_known=True))

    def suspicion(self, source: StrategySource, reports: Sequence[RunReport]) -> Suspicion | None:
        """Whether the orders in ``reports``, one per cell of the bench, depend on bars that came after them."""
        return looks_ahead(source, reports, self.noise, self.evaluator)


def run_trial(  # noqa: PLR0913 - a trial is made of all of this
    candidate: Candidate,
    evaluator: Evaluator,
    bench: CellBench,
    *,
    rules: ScoreRules = DEFAULT_RULES,
    foresight: Foresight | None = None,
    cascade: Cascade | None = None,
) -> Trial:
    """Try one candidate on the bench.

    Args:
        candidate: what to try.
        evaluator: runs it over ``bench.cells``, in their order.
        bench: cells and benchmarks.
        rules: limits and weights of the scorecard.
        foresight: what a candidate that would be SCORED is checked with for look-ahead; None leaves the check out.
        cascade: what its first fold is judged by; None runs every fold of everybody.
    """
    watch = _Folds(bench, cascade)
    evaluation = (
        evaluator.evaluate(candidate.source)
        if cascade is None
        else evaluator.evaluate(candidate.source, goes_on=watch.goes_on)
    )
    outcome = evaluation.outcome
    cpu_s, wall_s = (0.0, 0.0) if outcome is None else (outcome.cpu_s, outcome.wall_s)

    def ended(kind: TrialOutcome, reason: str) -> Trial:
        probe = watch.probe(evaluation.reports)
        return Trial(candidate=candidate, outcome=kind, reason=reason, probe=probe, cpu_s=cpu_s, wall_s=wall_s)

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
    if watch.halt is not None:
        # What it did counts among the trials on these bars, though they are fewer bars than the others'.
        record = active_record(bench.cells[: len(evaluation.reports)], evaluation.reports)
        return replace(ended(*watch.halt), record=record)
    if outcome is None or outcome.end is not CageEnd.FINISHED:
        return ended(TrialOutcome.KILLED, "the cage gave no outcome" if outcome is None else outcome.reason)
    reports = evaluation.reports
    if len(reports) != len(bench.cells):
        return ended(TrialOutcome.FAILED, f"{len(reports)} reports came back for {len(bench.cells)} cells")
    for each, report in zip(bench.cells, reports, strict=True):
        if report.end is not RunEnd.FINISHED:
            return ended(TrialOutcome.FAILED, f"{each.cell.fold}: {_failure(report)}")
    card = score_cells(watch.measured(reports), rules)
    # Only what would take part in selection: a vetoed candidate cannot enter the pool, and its offspring is checked in turn.
    suspicion = None if foresight is None or card.vetoes else foresight.suspicion(candidate.source, reports)
    if suspicion is not None:
        return ended(TrialOutcome.KILLED if suspicion.is_kill else TrialOutcome.FAILED, suspicion.reason)
    record = active_record(bench.cells, reports)
    return Trial(
        candidate=candidate,
        outcome=TrialOutcome.VETOED if card.vetoes else TrialOutcome.SCORED,
        reason="; ".join(card.vetoes) or _in_words(card),
        scorecard=card,
        behaviour=behaviour_digest(reports),
        probe=watch.probe(reports),
        rhythm=rhythm_of(record.series()),
        record=record,
        cpu_s=cpu_s,
        wall_s=wall_s,
    )


@dataclass(slots=True)
class _Folds:
    """Looks at a run each time that a fold is done."""

    bench: CellBench
    cascade: Cascade | None
    halt: Halt | None = None
    results: list[CellResult] = field(default_factory=list)
    """One per report that was looked at; measured once."""

    def goes_on(self, reports: Sequence[RunReport]) -> bool:
        """Whether the other folds are run, too."""
        if self.cascade is not None and len(reports) in self.bench.fold_ends and _all_finished(reports):
            self.halt = self.cascade.halt(self.probe(reports), self.measured(reports))
        return self.halt is None

    def measured(self, reports: Sequence[RunReport]) -> list[CellResult]:
        """Results of the reports so far."""
        for each, report in list(zip(self.bench.cells, reports, strict=False))[len(self.results) :]:
            self.results.append(_result(each, report))
        return self.results

    def probe(self, reports: Sequence[RunReport]) -> str | None:
        """Digest of what was ordered in the probe's folds; None when nothing was, or when a run there did not finish."""
        first = reports[: self.bench.probe_cells]
        is_telling = len(first) == self.bench.probe_cells and _all_finished(first)
        return behaviour_digest(first) if is_telling and any(report.order_log for report in first) else None


def recalled_trial(candidate: Candidate, stored: Trial, bench: CellBench, cascade: Cascade) -> Trial | None:
    """What ``run_trial`` would give, taken from an earlier night's trial of the same source; None when that cannot be told.

    Its folds are judged as if they had been run now, so that a run comes to the same with and without a memory.
    """
    card = stored.scorecard
    place = f"{stored.candidate.run_id}/{stored.candidate.id}"
    told = replace(stored, candidate=candidate, recalled=stored.recalled or place, cpu_s=0.0, wall_s=0.0)
    if stored.outcome is TrialOutcome.REJECTED:
        return told
    if card is None or [(cell.symbol, cell.fold) for cell in card.cells] != [
        (each.cell.symbol, each.cell.fold) for each in bench.cells
    ]:
        return None
    for count in bench.fold_ends:
        probe = stored.probe if count >= bench.probe_cells else None
        halt = cascade.halt(probe, card.cells[:count])
        if halt is not None:
            return replace(
                told, outcome=halt.outcome, reason=halt.reason, scorecard=None, behaviour=None, rhythm=None, probe=probe
            )
    return told


def _all_finished(reports: Sequence[RunReport]) -> bool:
    return all(report.end is RunEnd.FINISHED for report in reports)


def scorecard_of(run: BenchRun, rules: ScoreRules = DEFAULT_RULES) -> Scorecard | None:
    """The scorecard of a source that was run on some cells; None when it was refused or did not finish."""
    reports = run.evaluation.reports
    if len(reports) != len(run.cells) or not _all_finished(reports):
        return None
    return score_cells([_result(each, report) for each, report in zip(run.cells, reports, strict=True)], rules)


def behaviour_digest(reports: Sequence[RunReport]) -> str:
    """Hex sha256 of the order logs in order of cells: equal digests mean that the same was asked for on the same bars."""
    logs = [[(entry.row, entry.action) for entry in report.order_log] for report in reports]
    return hashlib.sha256(json.dumps(logs, separators=(",", ":")).encode()).hexdigest()


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
