"""Levels at which a position leaves by itself: its bracket, and the account's own rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from runtime.kernel.costs import ceil_to, floor_to

if TYPE_CHECKING:
    from runtime.kernel.portfolio import Portfolio
    from runtime.model import Instrument


class Exit(NamedTuple):
    """A price at which the position leaves, and why."""

    level: float
    reason: str


def adverse_exits(books: Portfolio, instrument: Instrument, *, is_cash: bool) -> list[Exit]:
    """Levels against an open position, nearest first: stop loss, trail, maintenance margin, ruin."""
    exits: list[Exit] = []
    bracket = books.bracket
    if bracket is not None:
        if bracket.stop_loss is not None:
            exits.append(Exit(_against(books, books.entry_price, bracket.stop_loss, instrument.tick), "stop_loss"))
        if bracket.trail is not None:
            exits.append(Exit(_against(books, books.best, bracket.trail, instrument.tick), "trail"))
    if not is_cash:
        exits.extend(_margin_exits(books, instrument.maintenance_margin))
    exits.sort(key=_level_of, reverse=books.position > 0.0)
    return exits


def _level_of(way: Exit) -> float:
    return way.level


def _against(books: Portfolio, price: float, share: float, tick: float | None) -> float:
    return floor_to(price * (1.0 - share), tick) if books.position > 0.0 else ceil_to(price * (1.0 + share), tick)


def _margin_exits(books: Portfolio, maintenance: float | None) -> list[Exit]:
    """Prices at which equity is gone (``-cash / position``), and at which it falls below the maintenance margin."""
    position, cash = books.position, books.cash
    levels = [(-cash / position, "ruin")]
    # A long position that is to be owned whole has no such price: it is paid for, wherever the price goes.
    if maintenance is not None and position != maintenance * abs(position):
        levels.append((-cash / (position - maintenance * abs(position)), "margin"))
    return [Exit(level, reason) for level, reason in levels if level > 0.0]


def profit_level(books: Portfolio, instrument: Instrument) -> float | None:
    """The take-profit price of an open position; None without one."""
    bracket = books.bracket
    if not books.position or bracket is None or bracket.take_profit is None:
        return None
    share, entry, tick = bracket.take_profit, books.entry_price, instrument.tick
    return ceil_to(entry * (1.0 + share), tick) if books.position > 0.0 else floor_to(entry * (1.0 - share), tick)


class QuietRange(NamedTuple):
    """Prices strictly between these leave the position alone."""

    low: float
    high: float


NEVER_QUIET = QuietRange(math.inf, -math.inf)
"""No bar stays inside."""

ALWAYS_QUIET = QuietRange(-math.inf, math.inf)
"""Nothing can happen to the position by itself: it has no bracket, and its account no rules of its own."""


def quiet_range(books: Portfolio, instrument: Instrument, *, is_cash: bool) -> QuietRange:
    """Where a bar must stay for the position to go on untouched."""
    exits = adverse_exits(books, instrument, is_cash=is_cash)
    profit = profit_level(books, instrument)
    if books.position > 0.0:
        return QuietRange(exits[0].level if exits else -math.inf, math.inf if profit is None else profit)
    return QuietRange(-math.inf if profit is None else profit, exits[0].level if exits else math.inf)


def trailed(quiet: QuietRange, books: Portfolio, instrument: Instrument) -> QuietRange:
    """The range after the best price has moved: of all levels only the trail's follows it, and only inwards."""
    if books.bracket is None or books.bracket.trail is None:
        return quiet
    level = _against(books, books.best, books.bracket.trail, instrument.tick)
    if books.position > 0.0:
        return QuietRange(max(quiet.low, level), quiet.high)
    return QuietRange(quiet.low, min(quiet.high, level))
