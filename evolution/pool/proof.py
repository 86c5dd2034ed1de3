"""The proof run in admission: are a candidate's figures on train really its own?

All figures of a search are made from what caged children claim. Before a candidate may read validation it is run again on
train with the books in this process and its own process without a bar (``gates.prove``), and held against two things: a
fresh fast run, order by order, and what is stored of the run that the search judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.evaluate import behaviour_digest
from evolution.pool.segment import SegmentFailure, failure_of_run
from fitness import measure
from gates import same_orders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.bench import BenchCell, BenchRun
    from evolution.trial import Trial
    from fitness import Metrics
    from runtime.kernel import RunReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of a proof run."""

    differing: int
    """Cells in which it is not the fast run, or not what the search stored."""
    first: str = ""
    """Where the first difference is, as a clause; empty without one."""


def compare_runs(trial: Trial, fast: BenchRun, proof: BenchRun, *, cells: int) -> Proof | SegmentFailure:
    """Hold a trial's two runs on the cells of the search against each other and against what is stored.

    Args:
        trial: as the search stored it.
        fast: a fresh run of its source, made as the search made its own.
        proof: a proof run of it on the same cells, in the same order.
        cells: how many.
    """
    for run in (fast, proof):
        failure = failure_of_run(run, expected=cells)
        if failure is not None:
            return failure
    stored = _stored(trial)
    differences = [
        _difference(number, each, pair, stored)
        for number, (each, *pair) in enumerate(
            zip(proof.cells, fast.evaluation.reports, proof.evaluation.reports, strict=True), start=1
        )
    ]
    found = [clause for clause in differences if clause]
    if not found and trial.behaviour not in {None, behaviour_digest(proof.evaluation.reports)}:
        found = ["the search stored other orders"]
    return Proof(differing=len(found), first=found[0] if found else "")


def _difference(
    number: int, each: BenchCell, reports: Sequence[RunReport], stored: Mapping[tuple[str, str], Metrics] | None
) -> str:
    """A clause without a symbol and without a price; empty when there is no difference."""
    fast, proof = reports
    difference = same_orders(fast, proof)
    if difference is not None:
        place = "" if difference.row is None else f" at row {difference.row}"
        return f"cell {number}: {difference.what}{place}"
    if stored is not None:
        metrics = measure(proof, each.bars, each.config, first=each.config.start)
        if stored.get((each.cell.symbol, each.cell.fold)) != metrics:
            return f"cell {number}: the search stored other figures"
    return ""


def _stored(trial: Trial) -> Mapping[tuple[str, str], Metrics] | None:
    """The stored figures by cell; None for a trial from before orders were stored, which has nothing exact to compare."""
    if trial.behaviour is None or trial.scorecard is None:
        return None
    return {(cell.symbol, cell.fold): cell.metrics for cell in trial.scorecard.cells}
