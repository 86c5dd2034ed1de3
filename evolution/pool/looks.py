"""Looks at the vault: counted, charged before they are taken, and paid from a budget that only new bars refill.

A look tests one entry at level alpha: on a source without skill it passes with that probability. Over the life of the
same bars the alphas add up, and their sum bounds the probability of ever promoting a source without skill (the union
bound, whatever the looks have to do with each other). So the sum over all looks that share a bar stays within the
budget, counted per symbol and timeframe, whatever the data set was called.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import func, select
from sqlmodel import col

from evolution.interval import BarInterval, intervals_of
from evolution.plural import plural
from evolution.tables import PoolEntryRow, VaultLookRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy.orm import Session

    from runtime.market import Bars, Cell, Vault

# Alphas are decimal fractions, so ten times 0.005 is not exactly 0.05 in binary.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class LookPolicy:
    """What a look costs and what it asks for."""

    alpha: float = 0.005
    """Level of one look: ten looks spend the default budget. The facts call this the best trade for a nightly use."""
    budget: float = 0.05
    """Most that the looks at any bar may add up to."""
    max_drawdown: float = 0.30
    """In every cell of the vault, as a fraction."""
    min_bars: int = 250
    """Fewest bars per symbol in a look at bars that came later; with less than a year almost nothing would pass."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= self.budget < 1:
            raise ValueError(f"look policy: alpha {self.alpha} must be above 0 and within the budget {self.budget}")
        if not 0 < self.max_drawdown <= 1 or self.min_bars < 1:
            raise ValueError(f"look policy: drawdown {self.max_drawdown} or bars {self.min_bars} out of range")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look, as the ledger has it."""

    number: int
    entry: int
    """Number of the pool entry."""
    intervals: tuple[BarInterval, ...]
    alpha: float
    passed: bool | None
    """None while it is not settled: the process died, or the machine stopped the run. It is charged all the same."""
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBudget:
    """There is nothing left to look with."""

    reason: str
    """One sentence: what was spent, and what would refill it."""


def plan_look(
    bars: Mapping[str, Bars], cells: Sequence[Cell], looks: Sequence[Look], policy: LookPolicy
) -> tuple[Cell, ...] | NoBudget:
    """The cells of the next look: the longest end of the vault on which the budget is not spent.

    That is the whole vault at first. When its looks have spent the budget, only bars later than those looks are left,
    and with few of them there is no next look.

    Args:
        bars: The vault's bars by symbol.
        cells: The vault's cells.
        looks: All looks ever, at any data set.
        policy: Level and budget.
    """
    ends = sorted({seen.end for look in looks for seen in look.intervals})
    spent = 0.0
    for cut in (None, *ends):
        rest = tuple(cells) if cut is None else later_cells(bars, cells, cut)
        shortest = min(cell.stop - cell.start for cell in rest)
        if cut is not None and shortest < policy.min_bars:
            break
        spent = max(_spent(interval, looks) for interval in intervals_of(bars, rest))
        if spent + policy.alpha <= policy.budget + _ROUNDING:
            return rest
    newest = min(cell.stop - cell.start for cell in later_cells(bars, cells, ends[-1]))
    return NoBudget(
        reason=f"looks at these bars have spent {spent:g} of the error budget of {policy.budget:g}, and one more costs "
        f"{policy.alpha:g}; {plural(newest, 'bar has', 'bars have')} come since the last look, and {policy.min_bars} are needed"
    )


def looks_left(looks: Sequence[Look], symbols: Sequence[str], timeframe: str, policy: LookPolicy) -> int:
    """How many more looks the budget pays for at bars of these symbols, until newer ones come.

    Reckoned from the ledger alone, so the vault stays closed: a look reaches to the end of the vault as it was, so what overlaps the
    newest look is what the next one has to share the budget with.
    """
    seen = [each for look in looks for each in look.intervals if each.timeframe == timeframe]
    spent = 0.0
    for symbol in symbols:
        of_symbol = [each for each in seen if each.symbol == symbol]
        if of_symbol:
            spent = max(spent, _spent(max(of_symbol, key=lambda each: each.end), looks))
    return max(0, int((policy.budget - spent) / policy.alpha + _ROUNDING))


def later_cells(bars: Mapping[str, Bars], cells: Sequence[Cell], moment: datetime) -> tuple[Cell, ...]:
    """The part of each cell from a moment on; it may be empty."""
    return tuple(_later(bars[cell.symbol], cell, moment) for cell in cells)


def cells_of_look(bars: Mapping[str, Bars], cells: Sequence[Cell], look: Look) -> tuple[Cell, ...] | None:
    """The cells of a look that was begun; None when the vault does not hold exactly those bars any more."""
    again = tuple(
        replace(cell, start=_row(bars[cell.symbol], interval.start), stop=_row(bars[cell.symbol], interval.end))
        for cell in cells
        for interval in look.intervals
        if interval.symbol == cell.symbol
    )
    is_whole = all(cell.start < cell.stop for cell in again) and len(again) == len(cells)
    return again if is_whole and set(intervals_of(bars, again)) == set(look.intervals) else None


def read_looks(session: Session) -> tuple[Look, ...]:
    """All looks, oldest first."""
    by_number: dict[int, list[VaultLookRow]] = {}
    for row in session.scalars(select(VaultLookRow).order_by(col(VaultLookRow.look), col(VaultLookRow.symbol))):
        by_number.setdefault(row.look, []).append(row)
    return tuple(_look(rows) for rows in by_number.values())


def begin_look(  # noqa: PLR0913 - everything that must be known before the bars are touched
    session: Session,
    entry: PoolEntryRow,
    vault: Vault,
    cells: Sequence[Cell],
    *,
    alpha: float,
    by: str,
    at: datetime,
) -> Look:
    """Charge a look, in the caller's transaction."""
    assert entry.number is not None  # it was read from the store
    number = 1 + (session.scalar(select(func.max(col(VaultLookRow.look)))) or 0)
    rows = [
        VaultLookRow(
            look=number,
            symbol=interval.symbol,
            timeframe=interval.timeframe,
            start=interval.start,
            end=interval.end,
            entry=entry.number,
            source_sha256=entry.source_sha256,
            dataset=vault.name,
            vault_sha256=vault.sha256,
            config_hash=entry.config_hash,
            engine_version=entry.engine_version,
            alpha=alpha,
            by=by,
            at=at,
        )
        for interval in intervals_of(vault.bars, cells)
    ]
    session.add_all(rows)
    session.flush()
    return _look(rows)


def settle_look(
    session: Session, look: Look, *, passed: bool, figures: Mapping[str, float | str | None], at: datetime
) -> bool:
    """Write a look's result, in the caller's transaction; False when it was settled before."""
    rows = session.scalars(select(VaultLookRow).where(col(VaultLookRow.look) == look.number)).all()
    if any(row.passed is not None for row in rows):
        return False
    for row in rows:
        row.passed, row.figures, row.settled = passed, dict(figures), at
    return True


def _look(rows: Iterable[VaultLookRow]) -> Look:
    first, *_ = rows = list(rows)
    return Look(
        number=first.look,
        entry=first.entry,
        intervals=tuple(
            BarInterval(symbol=row.symbol, timeframe=row.timeframe, start=row.start, end=row.end) for row in rows
        ),
        alpha=first.alpha,
        passed=first.passed,
        by=first.by,
        at=first.at,
    )


def _spent(interval: BarInterval, looks: Sequence[Look]) -> float:
    return sum(look.alpha for look in looks if any(seen.overlaps(interval) for seen in look.intervals))


def _later(bars: Bars, cell: Cell, moment: datetime) -> Cell:
    return replace(cell, start=min(max(cell.start, _row(bars, moment)), cell.stop))


def _row(bars: Bars, moment: datetime) -> int:
    return int(np.searchsorted(bars.ts, int(moment.astimezone(UTC).timestamp())))
