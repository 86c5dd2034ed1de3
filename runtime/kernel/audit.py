"""The books of a claimed run, done again: a report is accepted only if the bars and the fills explain all of it.

What this proves: every fill lies inside its bar and after the first decision, costs what it must, is covered by cash
or margin, and the equity curve, the position and the trades follow from the fills. What it cannot prove: that the
strategy would have asked for these fills without seeing the future. The proof run is for that.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from runtime.kernel.costs import fee_of, fee_within
from runtime.kernel.equity import mark
from runtime.kernel.portfolio import Mark, Portfolio
from runtime.kernel.report import AccountKind, Failure, OrderEntry, Refusal, RunEnd, RunReport, Trade
from runtime.model import Fill, Side

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.kernel.report import RunConfig
    from runtime.market.bars import Bars

# Two ways of adding up the same run differ by rounding only.
_TOLERANCE = 1e-9

EXIT_REASONS = frozenset({"signal", "stop_loss", "take_profit", "trail", "ruin", "margin"})


class ReportError(Exception):
    """Bytes that claim to be a report are not one, or claim what the bars do not allow. Treat the run as broken."""


class FillClaim(NamedTuple):
    """A fill as sent."""

    row: int
    side: Side
    quantity: float
    price: float
    fee: float
    tag: str
    order_id: int


class TradeClaim(NamedTuple):
    """What cannot be computed from the fills alone."""

    mae: float
    mfe: float
    exit_reason: str


class RefusalClaim(NamedTuple):
    """A refusal as sent."""

    row: int
    reason: str
    order_id: int


class ReportClaim(NamedTuple):
    """A report as sent: well-formed, not believed yet."""

    end: RunEnd
    failure: Failure | None
    first_tradable_bar: int | None
    equity: NDArray[np.float64]
    position: NDArray[np.float64]
    fills: tuple[FillClaim, ...]
    trades: tuple[TradeClaim, ...]
    refused: tuple[RefusalClaim, ...]
    refused_count: int
    open_orders: int
    order_log: tuple[OrderEntry, ...]
    log: tuple[str, ...]
    ruined: bool


def audited(claim: ReportClaim, bars: Bars, config: RunConfig) -> RunReport:
    """The report, if everything in it can be explained.

    Raises:
        ReportError: names the first thing that cannot.
    """
    _check_rows(claim, bars, config)
    replay = _Replay(bars, config)
    for fill in claim.fills:
        replay.fill(fill)
    replay.carry_to(len(bars))
    _check_end(claim, replay, bars)
    if claim.ruined:
        replay.marks.append(Mark(claim.fills[-1].row, 0.0, 0.0))
    curve = mark(replay.marks, bars.close, config.cash)
    _check_curve("position", claim.position, curve.position, float(np.abs(curve.position).max(initial=0.0)))
    _check_curve("equity", claim.equity, curve.equity, max(config.cash, float(np.abs(curve.equity).max())))
    return RunReport(
        end=claim.end,
        failure=claim.failure,
        first_tradable_bar=claim.first_tradable_bar,
        equity=curve.equity,
        position=curve.position,
        fills=tuple(replay.fills),
        trades=_trades(claim, replay.trades, bars),
        refused=tuple(Refusal(ts=replay.stamp(r.row), reason=r.reason, order_id=r.order_id) for r in claim.refused),
        refused_count=claim.refused_count,
        open_orders=claim.open_orders,
        order_log=claim.order_log,
        log=claim.log,
        ruined=claim.ruined,
    )


def _refuse(message: str) -> NoReturn:
    raise ReportError(message)


def _check_rows(claim: ReportClaim, bars: Bars, config: RunConfig) -> None:
    first, n = claim.first_tradable_bar, len(bars)
    if first is not None and not config.start <= first < n:
        _refuse(f"first tradable bar {first} is outside {config.start}..{n - 1}")
    if first is None and (claim.fills or claim.order_log):
        _refuse("orders or fills without a tradable bar")
    rows = [fill.row for fill in claim.fills]
    asked = [entry.row for entry in claim.order_log]
    for name, values in (("fills", rows), ("order log", asked), ("refusals", [r.row for r in claim.refused])):
        if any(a > b for a, b in pairwise(values)):
            _refuse(f"{name} out of order")
        if values and not 0 <= values[0] <= values[-1] < n:
            _refuse(f"{name} outside the bars")
    if asked and asked[0] < (first or 0):
        _refuse("an order before the first tradable bar")
    if rows and (not asked or rows[0] < asked[0] + 1 + config.decision_delay):
        _refuse("a fill that nobody can have asked for in time")
    if (claim.failure is not None) is not (claim.end is RunEnd.FAILED):
        _refuse("a failure goes with a failed run, and only with one")
    if claim.refused_count < len(claim.refused):
        _refuse("more refusals listed than counted")


def _check_end(claim: ReportClaim, replay: _Replay, bars: Bars) -> None:
    if claim.ruined:
        books = replay.books
        if replay.is_cash or not claim.fills or books.position != 0.0 or books.cash > _TOLERANCE * replay.config.cash:
            _refuse("ruined, but the fills leave something")
    elif not replay.is_cash:
        replay.check_alive(bars)


def _check_curve(name: str, claimed: NDArray[np.float64], computed: NDArray[np.float64], scale: float) -> None:
    if claimed.shape != computed.shape:
        _refuse(f"{name} has {len(claimed)} values, {len(computed)} expected")
    if not np.isfinite(claimed).all():
        _refuse(f"{name} is not finite")
    off = np.abs(claimed - computed) > _TOLERANCE * scale
    if off.any():
        _refuse(f"{name} does not follow from the fills at row {int(np.argmax(off))}")


def _trades(claim: ReportClaim, computed: list[Trade], bars: Bars) -> tuple[Trade, ...]:
    if len(computed) != len(claim.trades):
        _refuse(f"{len(claim.trades)} trades, {len(computed)} follow from the fills")
    done = []
    for number, (trade, sent) in enumerate(zip(computed, claim.trades, strict=True)):
        if sent.exit_reason not in EXIT_REASONS:
            _refuse("unknown exit reason")
        if sent.exit_reason == "ruin" and not (claim.ruined and number == len(computed) - 1):
            _refuse("an exit by ruin in a run that went on")
        held = slice(trade.entry_row, trade.exit_row + 1)
        down = 1.0 - float(bars.low[held].min()) / trade.entry_price
        up = float(bars.high[held].max()) / trade.entry_price - 1.0
        adverse, favourable = (down, up) if trade.side is Side.BUY else (up, down)
        for name, value, bound in (
            ("mae", sent.mae, max(adverse, trade.mae)),
            ("mfe", sent.mfe, max(favourable, trade.mfe)),
        ):
            if not 0.0 <= value <= max(bound, 0.0) + _TOLERANCE:
                _refuse(f"{name} of a trade is more than its bars allow")
        done.append(replace(trade, mae=sent.mae, mfe=sent.mfe, exit_reason=sent.exit_reason))
    return tuple(done)


class _Replay:
    """The books of the claimed fills."""

    def __init__(self, bars: Bars, config: RunConfig) -> None:
        self.config = config
        self.instrument = bars.instrument
        self.is_cash = config.account is AccountKind.CASH
        self.books = Portfolio(config.cash)
        self.marks = [Mark(0, config.cash, 0.0)]
        self.trades: list[Trade] = []
        self.fills: list[Fill] = []
        self.fill_rows: set[int] = set()
        self._ts = bars.ts.tolist()
        self._low, self._high, self._close = bars.low.tolist(), bars.high.tolist(), bars.close.tolist()
        self._row = 0
        borrow = 0.0 if self.is_cash else bars.instrument.borrow_bps_per_year
        self._borrow = borrow / 10_000.0 / bars.instrument.bars_per_year

    def stamp(self, row: int) -> datetime:
        """Open of a bar."""
        return datetime.fromtimestamp(self._ts[row], UTC)

    def carry_to(self, row: int) -> None:
        """Charge what holding costs at the closes before ``row``."""
        if self._borrow and self.books.position < 0.0:
            for held in range(self._row, row):
                self.books.charge(-self.books.position * self._close[held] * self._borrow)
                self.marks.append(Mark(held, self.books.cash, self.books.position))
        self._row = row

    def fill(self, claim: FillClaim) -> None:
        """Check a fill and book it."""
        self.carry_to(claim.row)
        self._check_price(claim)
        self._check_fee(claim)
        self._check_cover(claim)
        fill = Fill(
            ts=self.stamp(claim.row),
            side=claim.side,
            quantity=claim.quantity,
            price=claim.price,
            fee=claim.fee,
            tag=claim.tag,
            order_id=claim.order_id,
        )
        self.fills.append(fill)
        trade = self.books.apply(claim.row, fill, "signal")
        if trade is not None:
            self.trades.append(trade)
        self.fill_rows.add(claim.row)
        self.marks.append(Mark(claim.row, self.books.cash, self.books.position))
        if self.is_cash and (self.books.cash < -_TOLERANCE * self.config.cash or self.books.position < 0.0):
            _refuse(f"fill at row {claim.row} is not covered by cash or position")

    def _check_price(self, claim: FillClaim) -> None:
        low, high = self._low[claim.row], self._high[claim.row]
        slip, tick = self.config.costs.slippage_bps / 10_000.0, self.instrument.tick or 0.0
        if claim.side is Side.BUY:
            high = high * (1.0 + slip) + (tick if slip else 0.0)
        else:
            low = low * (1.0 - slip) - (tick if slip else 0.0)
        if not low * (1.0 - _TOLERANCE) <= claim.price <= high * (1.0 + _TOLERANCE):
            _refuse(f"fill at row {claim.row} is outside its bar")

    def _check_fee(self, claim: FillClaim) -> None:
        fee = fee_of(self.config.costs, claim.quantity, claim.price)
        if self.is_cash and claim.side is Side.SELL:
            fee = fee_within(fee, self.books.cash, claim.quantity * claim.price)
        if abs(claim.fee - fee) > _TOLERANCE * max(fee, 1.0):
            _refuse(f"fee of the fill at row {claim.row} is not what the costs say")

    def _check_cover(self, claim: FillClaim) -> None:
        if self.is_cash:
            return
        before = self.books.position
        after = before + (claim.quantity if claim.side is Side.BUY else -claim.quantity)
        if abs(after) <= abs(before) and (after >= 0.0) is (before >= 0.0):
            return
        need = self.instrument.initial_margin * abs(after) * claim.price
        have = self.books.equity(claim.price) - claim.fee
        if abs(after) > _TOLERANCE * abs(before) and need > have * (1.0 + _TOLERANCE) + _TOLERANCE * self.config.cash:
            _refuse(f"fill at row {claim.row} is not covered by margin")

    def check_alive(self, bars: Bars) -> None:
        """Refuse a margin run that survived a bar which ruins it."""
        rows = np.array([m.row for m in self.marks], dtype=np.intp)
        at = np.searchsorted(rows, np.arange(len(bars)), side="right") - 1
        position = np.array([m.position for m in self.marks])[at]
        cash = np.array([m.cash for m in self.marks])[at]
        quiet = np.ones(len(bars), dtype=np.bool_)
        quiet[list(self.fill_rows)] = False
        worst = np.where(position > 0.0, bars.low, bars.high)
        price = np.where(quiet, worst, bars.close)
        dead = cash + position * price < -_TOLERANCE * self.config.cash
        if dead.any():
            _refuse(f"a margin account that row {int(np.argmax(dead))} ruins went on")
