"""What programs have in common on the same bars: series, rules as columns, and tables of extremes, each made once.

A population shares most of its indicators and many of its rules, and all of it shares the bars. Whoever runs many programs keeps one
``Known`` per bars and hands it to the vector adapter; for a single run the adapter makes its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from runtime.longer import values
from runtime.sir.plan import IndicatorRef
from runtime.sir.ranges import Minima
from runtime.sir.rules import fired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runtime.desk import IndicatorCall
    from runtime.market.bars import Bars
    from runtime.sir.plan import PlannedOperand, PlannedRule, RuleGroups
    from runtime.sir.zone import Zone

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]

# Kept for one set of bars before all are forgotten: 4 MB of series, 2 MB of rules, 8 MB of tables. A search has dozens of such sets.
_MOST_VALUES = 500_000
_MOST_FLAGS = 2_000_000
# Tables of a day's bars of decades are small; those of minutes are made for each run that needs them.
_MOST_IN_TABLES = 1_000_000


class Known:
    """Of one set of bars. Grows with what is asked, up to a limit. Threads may share it: the worst is a column made twice."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        self._prices = {name: getattr(bars, name) for name in ("open", "high", "low", "close", "volume")}
        self._series: dict[IndicatorCall, Floats] = {}
        self._fired: dict[tuple[object, ...], Flags] = {}
        self._tables: dict[tuple[bool, int], Minima] = {}

    def series(self, call: IndicatorCall) -> Floats:
        """Values of an indicator, shape ``(n_bars,)``; not to be written to."""
        found = self._series.get(call)
        if found is None:
            if len(self._series) * len(self.bars) > _MOST_VALUES:
                self._series.clear()
            found = self._series[call] = values(call, self.bars.ts, self._prices)
        return found

    def fires(self, groups: RuleGroups, calls: Sequence[IndicatorCall], zone: Zone) -> Flags:
        """On which bars the rules fire, shape ``(n_bars,)``: ``runtime.sir.rules.fires`` with a memory."""
        out: Flags | None = None
        for group in groups:
            held = self._rule(group[0], calls, zone)
            for rule in group[1:]:
                held = held & self._rule(rule, calls, zone)
            out = held if out is None else out | held
        return np.zeros(len(self.bars), dtype=np.bool_) if out is None else out

    def lows(self, longest: int) -> Minima:
        """The table of lows for stretches of so many rows."""
        return self._table(longest, of_highs=False)

    def falls(self, longest: int) -> Minima:
        """The table of negated highs."""
        return self._table(longest, of_highs=True)

    def _rule(self, rule: PlannedRule, calls: Sequence[IndicatorCall], zone: Zone) -> Flags:
        key = (_named(rule.left, calls), rule.operator, _named(rule.right, calls), zone)
        found = self._fired.get(key)
        if found is None:
            if len(self._fired) * len(self.bars) > _MOST_FLAGS:
                self._fired.clear()
            found = self._fired[key] = fired(rule, self.bars, [self.series(call) for call in calls], zone)
        return found

    def _table(self, longest: int, *, of_highs: bool) -> Minima:
        # By the power of two, so that a table serves stretches up to twice as long as the one that it was made for.
        power = max(longest, 1).bit_length()
        found = self._tables.get((of_highs, power))
        if found is None:
            column = -self.bars.high if of_highs else self.bars.low
            found = Minima(column, (1 << power) - 1)
            if sum(table.size for table in self._tables.values()) + found.size > _MOST_IN_TABLES:
                self._tables.clear()
            if found.size <= _MOST_IN_TABLES:
                self._tables[of_highs, power] = found
        return found


def _named(operand: PlannedOperand, calls: Sequence[IndicatorCall]) -> object:
    """An operand by what it means, whatever its place in a plan."""
    return calls[operand.index] if type(operand) is IndicatorRef else operand
