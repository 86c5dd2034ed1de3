"""``CageRunner``: runs sources for admission and promotion: in a gate cage, exactly as the search runs its trials, and proven."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evolution.bench import BenchRun, CellBench
from evolution.evaluate import CageEvaluator
from gates import open_gate_cage, open_proof_cage, prove
from runtime.cage import CageLimits, CageMode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runtime.cage import Cage
    from runtime.kernel import RunConfig
    from runtime.market import Bars, Cell
    from runtime.source import StrategySource


@dataclass(frozen=True, slots=True, kw_only=True)
class CageRunner:
    """A ``Runner`` over an open cage that was loaded with the bars it will be asked to run on."""

    cage: Cage | None
    """None where only proof runs are made."""
    proof_cage: Cage
    """From ``gates.open_proof_cage``: holds no bars."""
    limits: CageLimits = field(default_factory=CageLimits)
    _benches: dict[tuple[object, ...], CellBench] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By bars, cells and configuration: buy and hold is run once for all candidates and neighbours."""

    def run(
        self, source: StrategySource, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig
    ) -> BenchRun:
        """Gates one to three, then all cells in one caged child.

        Raises:
            RuntimeError: it was opened without bars, for proof runs only.
        """
        if self.cage is None:
            raise RuntimeError("this runner was opened without bars, for proof runs only")
        bench = self._bench(bars, cells, config)
        evaluator = CageEvaluator(cage=self.cage, bench=bench, limits=self.limits)
        return BenchRun(cells=bench.cells, evaluation=evaluator.evaluate(source))

    def prove(
        self, source: StrategySource, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig
    ) -> BenchRun:
        """Each cell bar by bar, with the books in this process."""
        bench = self._bench(bars, cells, config)
        evaluation = prove(source, self.proof_cage, bars, bench.jobs, config, limits=self.limits)
        return BenchRun(cells=bench.cells, evaluation=evaluation)

    def _bench(self, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig) -> CellBench:
        key = (config, *((cell, bars[cell.symbol].sha256) for cell in cells))
        bench = self._benches.get(key)
        if bench is None:
            # Two threads may build the same one at the same time; they are equal, and either may stay.
            bench = self._benches[key] = CellBench.build(bars, cells, config)
        return bench


@contextmanager
def open_runner(
    bars: Mapping[str, Bars], *, mode: CageMode = CageMode.FULL, limits: CageLimits | None = None
) -> Iterator[CageRunner]:
    """A runner with its cages, closed at the end.

    Args:
        bars: for fast runs; with none there is only the cage for proof runs, which take theirs from the caller.
        mode: of both cages.
        limits: of each child.

    Raises:
        CageUnavailable: a required layer does not hold on this machine.
        CageError: a zygote could not be started.
    """
    with ExitStack() as stack:
        cage = stack.enter_context(open_gate_cage(bars, mode=mode)) if bars else None
        proof_cage = stack.enter_context(open_proof_cage(mode=mode))
        yield CageRunner(cage=cage, proof_cage=proof_cage, limits=limits or CageLimits())
