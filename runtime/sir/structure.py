"""Structures of option and future legs: opened together or not at all, at model prices.

The underlying's bars are real; what the legs cost is not. A leg is priced on the surface of ``runtime.sir.pricing``, from closes that were
known before the moment, and whatever shows such a run says so. The rules:

- Decided at the close of t, filled at the open of t+1, all legs at once; the legs' strikes lie on a grid of the usual step for that
  open. A structure with a leg that is worth nothing is refused whole, and so is one that the cash does not cover.
- A unit is one structure; a size in percent counts a unit as one unit of the underlying. Fees are taken on each leg's price.
- A leg ends at the first open at or after its expiry, for what it pays there; a structure ends with its last leg.
- Stop loss and take profit are shares of the structure's own price (or points of it), looked at on closes.
- Equity at a close is the cash and what all legs are worth there. At zero the account is ruined and nothing happens any more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from runtime.desk import Action, Request
from runtime.kernel.backtest import columns_of, first_row
from runtime.kernel.costs import fee_of
from runtime.kernel.session import Account, Declaration
from runtime.sir.build import build
from runtime.sir.host import DeskRules, Fired
from runtime.sir.plan import OffsetFromSpot, TargetDelta
from runtime.sir.pricing import WIDEST, Right, listed, price, realised_volatility, strike_of_delta, usual_step
from runtime.sir.rules import fires
from runtime.sir.vocabulary import DistanceUnit, LegKind, LegSide, SizingKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.desk import Moment
    from runtime.kernel.report import RunConfig
    from runtime.market.bars import Bars
    from runtime.sir.plan import ExecutionPlan, PlannedDistance, PlannedLeg

_DAY_S, _YEAR_DAYS = 86_400, 365.0
_RIGHTS = {LegKind.CALL: Right.CALL, LegKind.PUT: Right.PUT}
# Below this share of the underlying nobody quotes an option.
_WORTH_NOTHING = 1e-6

MODEL_PRICED = "leg prices are a model's (Black-Scholes on realised volatility), not a market's"
"""What every report of such a run says."""


class LegTrade(NamedTuple):
    """One leg of a structure that has ended."""

    id: str
    strike: float | None
    """None for a future."""
    expiry: int
    """Seconds since 1970-01-01 UTC."""
    quantity: float
    """Signed units: negative where the leg was sold."""
    entry_price: float
    exit_price: float
    exit_row: int


class StructureTrade(NamedTuple):
    """A structure from its opening to the end of its last leg."""

    entry_row: int
    exit_row: int
    units: float
    legs: tuple[LegTrade, ...]
    fees: float
    pnl: float
    """Net of fees, quote currency."""
    exit_reason: str
    """``signal``, ``stop_loss``, ``take_profit``, ``expiry`` or ``ruin``."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StructureRun:
    """What came of a plan with legs. All prices of legs in it are a model's."""

    equity: NDArray[np.float64]
    """Shape ``(n_bars + 1,)``: starting cash, then equity at each close."""
    trades: tuple[StructureTrade, ...]
    refused: tuple[tuple[int, str], ...]
    """Row and reason of each structure that was not opened."""
    open_units: float
    """Units of the structure that is still open at the end; 0.0 when there is none."""
    ruined: bool


@dataclass(slots=True)
class _Leg:
    planned: PlannedLeg
    strike: float | None
    expiry: int
    quantity: float
    entry_price: float
    exit_price: float | None = None
    exit_row: int = -1


@dataclass(slots=True)
class _Open:
    row: int
    units: float
    legs: list[_Leg]
    worth: float
    """Of one unit when it was opened, positive when it was paid for."""
    fees: float
    cash_before: float
    reason: str = "expiry"
    alive: list[_Leg] = field(default_factory=list)


def run_structure(plan: ExecutionPlan, bars: Bars, config: RunConfig) -> StructureRun:
    """Run a plan with legs over the bars of its underlying.

    Args:
        plan: compiled for a backtest, with at least one leg.
        bars: of the underlying; rows before ``config.start`` only feed indicators and volatility.
        config: starting cash and costs; fees are on the legs' prices, slippage is not modelled.

    Raises:
        ValueError: the plan has no legs.
    """
    if not plan.legs:
        raise ValueError(f"plan {plan.name!r} has no legs")
    return _Book(plan, bars, config).run()


class _Book:
    """The account of one run."""

    def __init__(self, plan: ExecutionPlan, bars: Bars, config: RunConfig) -> None:
        self._plan, self._bars, self._config = plan, bars, config
        # The desk decides when; what a structure costs it need not know.
        single = replace(plan, legs=(), risk=replace(plan.risk, stop_loss=None, take_profit=None))
        self._program = replace(build(single), entry=Request(0, Action.BUY, None, 1.0))
        self._desk = DeskRules(self._program, bars.timeframe)
        self._cash = config.cash
        self._open: _Open | None = None
        self._trades: list[StructureTrade] = []
        self._refused: list[tuple[int, str]] = []
        self._ruined = False

    def run(self) -> StructureRun:
        bars, program = self._bars, self._program
        declared = Declaration(program.calls, program.need, 0)
        columns = [np.array(column) for column in columns_of(declared, bars)]
        enter = fires(program.enter, bars, columns, program.zone)
        leave = fires(program.leave, bars, columns, program.zone)
        # Volatility needs two closes before the first fill.
        first = max(first_row(declared, self._config), 1)
        equity = np.full(len(bars) + 1, self._config.cash)
        wish: str | None = None
        for row, bar in enumerate(bars.rows()):
            if self._ruined:
                equity[row + 1] = 0.0
                continue
            if row >= first:
                self._at_open(row, wish)
                wish = None
            equity[row + 1] = self._equity(row)
            if equity[row + 1] <= 0.0:
                self._ruin(row)
                equity[row + 1] = 0.0
            elif row >= first:
                fired = Fired(bool(enter[row]), bool(leave[row]))
                wish = self._wish((bar, row - first + 1), fired, float(equity[row + 1]), row)
        return StructureRun(
            equity=equity,
            trades=tuple(self._trades),
            refused=tuple(self._refused),
            open_units=self._open.units if self._open is not None else 0.0,
            ruined=self._ruined,
        )

    # The open ---------------------------------------------------------------------------------------------------

    def _at_open(self, row: int, wish: str | None) -> None:
        ts, spot = int(self._bars.ts[row]), float(self._bars.open[row])
        if self._open is not None:
            for leg in [leg for leg in self._open.alive if leg.expiry <= ts]:
                self._end(leg, row, self._paid(leg, spot))
            if wish not in {None, "enter"} and self._open.alive:
                self._open.reason = str(wish)
                for leg in list(self._open.alive):
                    self._end(leg, row, self._worth(leg, row, spot))
            if not self._open.alive:
                self._close(row)
        elif wish == "enter":
            self._enter(row, ts, spot)

    def _enter(self, row: int, ts: int, spot: float) -> None:
        wild = [leg.id for leg in self._plan.legs if isinstance(leg.strike, TargetDelta) and self._is_wild(leg, row)]
        if wild:
            self._refused.append(
                (row, f"leg {wild[0]} has no strike while the market moves that much, so no leg is placed")
            )
            return
        step = usual_step(spot)
        legs = [self._planned(leg, row, ts, spot, step) for leg in self._plan.legs]
        cheap = [leg.planned.id for leg in legs if leg.entry_price < _WORTH_NOTHING * spot]
        if cheap:
            self._refused.append((row, f"leg {cheap[0]} would be worth nothing, so no leg is placed"))
            return
        units = self._units(spot)
        for leg in legs:
            leg.quantity *= units
        paid = sum(leg.quantity * leg.entry_price for leg in legs if leg.planned.kind is not LegKind.FUTURE)
        fees = sum(fee_of(self._config.costs, abs(leg.quantity), leg.entry_price) for leg in legs)
        if units <= 0.0 or paid + fees > self._cash:
            need = f"insufficient cash: need {paid + fees:.2f}, have {self._cash:.2f}"
            self._refused.append((row, f"{need}, so no leg is placed"))
            return
        worth = sum(leg.quantity * leg.entry_price for leg in legs) / units
        self._open = _Open(row, units, legs, worth, fees, self._cash, alive=list(legs))
        self._cash -= paid + fees

    def _planned(self, leg: PlannedLeg, row: int, ts: int, spot: float, step: float) -> _Leg:
        expiry, sign = ts + leg.expiry_days * _DAY_S, 1.0 if leg.side is LegSide.BUY else -1.0
        years = leg.expiry_days / _YEAR_DAYS
        volatility = self._volatility(row, years)
        match leg.strike:
            case OffsetFromSpot(value=value, unit=unit):
                distance = spot * value / 100.0 if unit is DistanceUnit.PERCENT else value
                strike: float | None = listed(max(spot + distance, step), step)
            case TargetDelta(value=size):
                strike = listed(strike_of_delta(_RIGHTS[leg.kind], spot, size, years, volatility), step)
            case _:
                strike = None
        made = _Leg(leg, strike, expiry, sign * leg.ratio, 0.0)
        made.entry_price = self._worth(made, row, spot)
        return made

    def _is_wild(self, leg: PlannedLeg, row: int) -> bool:
        years = leg.expiry_days / _YEAR_DAYS
        return self._volatility(row, years) * math.sqrt(years) > WIDEST

    def _units(self, spot: float) -> float:
        sizing = self._plan.sizing
        assert sizing is not None  # the compiler asks a backtest for it
        if sizing.kind is SizingKind.FIXED_QTY:
            return sizing.value
        return self._cash * sizing.value / 100.0 / spot

    # Ends -------------------------------------------------------------------------------------------------------

    def _end(self, leg: _Leg, row: int, at: float) -> None:
        assert self._open is not None  # only legs of an open structure end
        fee = fee_of(self._config.costs, abs(leg.quantity), at) if at > 0.0 else 0.0
        gain = leg.quantity * (at - leg.entry_price) if leg.planned.kind is LegKind.FUTURE else leg.quantity * at
        self._cash += gain - fee
        self._open.fees += fee
        self._open.alive.remove(leg)
        leg.exit_price, leg.exit_row = at, row

    def _close(self, row: int) -> None:
        done = self._open
        assert done is not None  # asked for only then
        legs = tuple(
            LegTrade(
                each.planned.id,
                each.strike,
                each.expiry,
                each.quantity,
                each.entry_price,
                each.exit_price or 0.0,
                each.exit_row,
            )
            for each in done.legs
        )
        pnl = self._cash - done.cash_before
        self._trades.append(StructureTrade(done.row, row, done.units, legs, done.fees, pnl, done.reason))
        self._open = None

    def _ruin(self, row: int) -> None:
        close = float(self._bars.close[row])
        if self._open is not None:
            self._open.reason = "ruin"
            for leg in list(self._open.alive):
                self._end(leg, row, self._worth(leg, row + 1, close))
            self._close(row)
        self._cash, self._ruined = 0.0, True

    # Prices -----------------------------------------------------------------------------------------------------

    def _volatility(self, row: int, years: float) -> float:
        """From the closes before ``row``, over as many bars as the option has left."""
        bars_per_year = self._bars.instrument.bars_per_year
        return realised_volatility(self._bars.close[:row], round(years * bars_per_year), bars_per_year)

    def _worth(self, leg: _Leg, row: int, spot: float) -> float:
        """Price of one unit of a leg at a price of the underlying, with the closes before ``row`` known."""
        if leg.strike is None:
            return spot
        ts = int(self._bars.ts[row]) if row < len(self._bars) else int(self._bars.ts[-1]) + self._bars.timeframe.seconds
        years = max(leg.expiry - ts, 0) / _DAY_S / _YEAR_DAYS
        return price(_RIGHTS[leg.planned.kind], spot, leg.strike, years, self._volatility(row, years))

    def _paid(self, leg: _Leg, spot: float) -> float:
        return spot if leg.strike is None else price(_RIGHTS[leg.planned.kind], spot, leg.strike, 0.0, 0.0)

    def _equity(self, row: int) -> float:
        """Cash and what the open legs are worth at the close of ``row``."""
        return self._cash + sum(self._value(leg, row) for leg in (self._open.alive if self._open is not None else ()))

    def _value(self, leg: _Leg, row: int) -> float:
        worth = self._worth(leg, row + 1, float(self._bars.close[row]))
        return leg.quantity * (worth - leg.entry_price) if leg.planned.kind is LegKind.FUTURE else leg.quantity * worth

    # Decisions --------------------------------------------------------------------------------------------------

    def _wish(self, moment: Moment, fired: Fired, equity: float, row: int) -> str | None:
        """What is asked for at this close: ``enter``, or the reason to leave."""
        is_open = self._open is not None
        close = moment[0].close
        # One unit of the underlying stands for the structure; cash is what makes the sum the account's equity.
        account = Account(equity - close, 1.0, close, ()) if is_open else Account(equity, 0.0, None, ())
        self._desk.update(moment, account)
        asked = self._desk.ask(moment, fired)
        if self._open is not None:
            return self._stopped(self._open, row) or ("signal" if asked else None)
        return "enter" if asked else None

    def _stopped(self, structure: _Open, row: int) -> str | None:
        gained = self._equity(row) - structure.cash_before + structure.fees
        for distance, sign, reason in (
            (self._plan.risk.stop_loss, -1.0, "stop_loss"),
            (self._plan.risk.take_profit, 1.0, "take_profit"),
        ):
            if distance is not None and sign * gained >= _amount(distance, structure) * structure.units:
                return reason
        return None


def _amount(distance: PlannedDistance, structure: _Open) -> float:
    """Of one unit."""
    return abs(structure.worth) * distance.value / 100.0 if distance.unit is DistanceUnit.PERCENT else distance.value
