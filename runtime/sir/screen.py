"""The screener: which symbols fire on their last closed bar."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from runtime.longer import values as values_of
from runtime.market.bars import PRICE_COLUMNS
from runtime.sir.build import calls_of, need_of
from runtime.sir.rules import fires
from runtime.sir.zone import Zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.market.bars import Bars
    from runtime.sir.plan import ExecutionPlan


class Screened(NamedTuple):
    """One symbol."""

    symbol: str
    ts: datetime | None
    """Open of its last bar; None when it has none."""
    fires: bool
    values: tuple[tuple[str, float], ...]
    """The plan's series on that bar, by feature id; NaN where undefined."""
    short_of: int
    """Bars that are missing for the rules to be defined; 0 when there are enough."""


def screen(plan: ExecutionPlan, universe: Mapping[str, Bars]) -> tuple[Screened, ...]:
    """Judge the entry rules on the last bar of each symbol, in the order given."""
    return tuple(_screened(plan, symbol, bars) for symbol, bars in universe.items())


def _screened(plan: ExecutionPlan, symbol: str, bars: Bars) -> Screened:
    needed = max(plan.warmup_bars + need_of(plan), 1)
    if len(bars) < needed:
        return Screened(symbol, None, False, (), needed - len(bars))
    prices = {name: getattr(bars, name) for name in PRICE_COLUMNS}
    series = [values_of(call, bars.ts, prices) for call in calls_of(plan)]
    values = tuple((each.id, float(column[-1])) for each, column in zip(plan.indicators, series, strict=True))
    fired = fires(plan.rules.entry, bars, series, Zone(plan.timezone))
    return Screened(symbol, datetime.fromtimestamp(int(bars.ts[-1]), UTC), bool(fired[-1]), values, 0)
