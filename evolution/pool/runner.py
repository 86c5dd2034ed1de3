"""``CageRunner``: runs sources for admission and promotion in a gate cage, exactly as the search runs its trials."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evolution.pool.segment import BenchRun
from runtime.cage import CageLimits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.evaluate import CellBench
    from runtime.cage import Cage
    from runtime.kernel import RunConfig
    from runtime.market import Bars, Cell
    from runtime.source import StrategySource


@dataclass(frozen=True, slots=True, kw_only=True)
class CageRunner:
    """A ``Runner`` over an open cage that was loaded with the bars it will be asked to run on."""

    cage: Cage
    limits: CageLimits = field(default_factory=CageLimits)
    _benches: dict[tuple[object, ...], CellBench] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By bars, cells and configuration: buy and hold is run once for all candidates and neighbours."""

    def run(
        self, source: StrategySource, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig
    ) -> BenchRun:
        """Gates one to three, then all cells in one caged child."""
        # The gates and the kernel are needed to run something; whoever lists the pool should not wait for them.
        from evolution.evaluate import CageEvaluator, CellBench  # noqa: PLC0415 - see above

        key = (config, *((cell, bars[cell.symbol].sha256) for cell in cells))
        bench = self._benches.get(key)
        if bench is None:
            # Two threads may build the same one at the same time; they are equal, and either may stay.
            bench = self._benches[key] = CellBench.build(bars, cells, config)
        evaluator = CageEvaluator(cage=self.cage, bench=bench, limits=self.limits)
        return BenchRun(cells=bench.cells, evaluation=evaluator.evaluate(source))
