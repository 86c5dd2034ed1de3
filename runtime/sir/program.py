"""A plan as a machine runs it: names have become columns, percentages fractions, and every choice is made.

Made from a plan by ``runtime.sir.build``; run by ``runtime.sir.host`` (bar by bar) and ``runtime.sir.vector`` (on columns). The rules of
the desk, in one place:

- While flat and with nothing waiting, an entry is asked for when the entry rules fire, inside the hours, unless the day's trades are
  used up or the day's loss is reached. A trade counts on the day on which it was asked for.
- While holding, the position is closed when the exit rules fire, after ``time_stop`` bars (the bar of the entry counted), when the
  day's loss is reached, and, for an intraday product, on the last bar that can still be traded before the session's end.
- An entry that waits at a price is cancelled when its rules no longer fire, or when the hours are over.
- A day's loss is measured at closes, against the equity at the last close of the day before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from runtime.sir.zone import Zone

if TYPE_CHECKING:
    from runtime.desk import IndicatorCall, Request
    from runtime.sir.plan import RuleGroups


class Hours(NamedTuple):
    """Minutes of the day in which entries are asked for: bars that open at ``first`` or later and close by ``end``."""

    first: int
    end: int


class Points(NamedTuple):
    """A bracket in units of the price, counted as shares of the close on which the entry was decided."""

    stop_loss: float | None = None
    take_profit: float | None = None
    trail: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Everything that decides, and nothing else."""

    calls: tuple[IndicatorCall, ...]
    need: int
    """Bars of history before anything is decided: 2 when something crosses."""
    enter: RuleGroups
    leave: RuleGroups
    entry: Request
    """The entry without its number; where it waits at a price, without that price."""
    points: Points | None = None
    """The parts of the bracket that the entry cannot carry before a price is known."""
    offset: float | None = None
    """Where a waiting entry's price lies, as a fraction of the close: below it (or above, for a sale) when positive."""
    hours: Hours | None = None
    squares_off: bool = False
    """Whether nothing is held beyond the hours' end; only with hours."""
    zone: Zone = field(default_factory=Zone)
    time_stop: int | None = None
    trades_per_day: int | None = None
    loss_share: float | None = None
    """A day's loss as a fraction of the equity that it began with."""
    loss_amount: float | None = None
    """A day's loss in the quote currency."""

    @property
    def watches_days(self) -> bool:
        """Whether what is asked for depends on the day's own trades or losses."""
        return self.trades_per_day is not None or self.loss_share is not None or self.loss_amount is not None
