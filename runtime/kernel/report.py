"""What a run is told and what it reports.

What is made once per order is a named tuple: a frozen dataclass takes five times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from runtime.model import ABOVE_ZERO, ZERO_OR_MORE, Range, check_number

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from runtime.model import Fill, Side


class AccountKind(Enum):
    """A cash account cannot short or borrow; a margin account can, and can be ruined."""

    CASH = "cash"
    MARGIN = "margin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What trading costs, the same for a strategy and for buy and hold."""

    fee_bps: float = 10.0
    """Of the traded notional, each side."""
    fee_per_unit: float = 0.0
    fee_minimum: float = 0.0
    """Per fill, quote currency."""
    slippage_bps: float = 0.0
    """Adverse, on market and stop fills only."""

    def __post_init__(self) -> None:
        for name, allowed in _COST_RANGES.items():
            check_number(f"cost {name}", getattr(self, name), allowed)


# At 10,000 bps the whole notional is gone: nothing could be sized, and a sale would bring nothing.
_LESS_THAN_ALL = Range("0 or more and below 10000, which is all of the notional", 0.0, 9_999.999)
_COST_RANGES = {
    "fee_bps": _LESS_THAN_ALL,
    "fee_per_unit": ZERO_OR_MORE,
    "fee_minimum": ZERO_OR_MORE,
    "slippage_bps": _LESS_THAN_ALL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """How one run is made."""

    cash: float = 100_000.0
    """Starting cash, quote currency."""
    costs: Costs = field(default_factory=Costs)
    account: AccountKind = AccountKind.CASH
    start: int = 0
    """First row that may be traded, counted from 0; the rows before it only feed indicators and history."""
    decision_delay: int = 0
    """Bars by which every order is delayed; 1 is the delay stress, 0 is normal."""

    def __post_init__(self) -> None:
        check_number("starting cash", self.cash, ABOVE_ZERO)
        for name in ("start", "decision_delay"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ValueError(f"{name} = {value!r} must be a whole number of bars, 0 or more")
        account: object = self.account
        if not isinstance(account, AccountKind):
            kinds = ", ".join(f"AccountKind.{kind.name}" for kind in AccountKind)
            raise ValueError(f"account = {account!r} must be one of {kinds}")  # noqa: TRY004 - a value of a user's
        if self.costs.fee_minimum >= self.cash:
            raise ValueError(
                f"the minimum fee of {self.costs.fee_minimum:g} takes all of the starting cash of {self.cash:g}, so that "
                f"nothing can be bought; lower the fee or raise the cash"
            )


class RunEnd(Enum):
    """How a run ended, as seen by the session itself."""

    FINISHED = "finished"
    FAILED = "failed"
    """The strategy raised; see ``RunReport.failure``."""
    FLOODED = "flooded"
    """The strategy asked for more orders than the cap allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Where a strategy raised. The exception's own text is left out on purpose: the candidate wrote it."""

    hook: str
    """``load``, ``__init__``, ``on_start``, ``on_bar``, ``on_fill`` or ``on_stop``."""
    exception: str
    """Name of the exception's nearest builtin type (or of our own ``StrategyError`` rule)."""
    line: int | None
    """Line in the candidate's source, counted from 1; None when unknown."""
    message: str
    """Our own words."""


class Refusal(NamedTuple):
    """An order that the account or the contract did not allow."""

    ts: datetime
    """Stamp of the bar on which it was refused."""
    reason: str
    """Names the rule and the amounts, like ``insufficient cash: need 100100.00, have 100000.00``."""
    order_id: int


class Trade(NamedTuple):
    """A closed round trip (or the part of a position that a fill closed)."""

    side: Side
    """BUY for a long round trip, SELL for a short one."""
    quantity: float
    entry_row: int
    exit_row: int
    entry_price: float
    exit_price: float
    fees: float
    """Both sides, quote currency."""
    pnl: float
    """Net of both fees, quote currency."""
    mae: float
    """Maximum adverse excursion while held, as a fraction of the entry price, >= 0."""
    mfe: float
    """Maximum favourable excursion while held, as a fraction of the entry price, >= 0."""
    exit_reason: str
    """``signal``, ``stop_loss``, ``take_profit``, ``trail``, ``ruin`` or ``margin``."""


class OrderEntry(NamedTuple):
    """One line of the order log: what was asked for, and on which row. Equal logs mean equal behaviour."""

    row: int
    """Row (counted from 0) of the bar whose ``on_bar`` (or ``on_fill``) asked."""
    action: str
    """Canonical text of the request with exact float reprs, made by the kernel."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunReport:
    """Everything a run leaves behind. From a caged child it is only a claim."""

    end: RunEnd
    failure: Failure | None
    first_tradable_bar: int | None
    """Row of the first bar on which ``on_bar`` was called; None when it never was."""
    equity: NDArray[np.float64]
    """Shape ``(n_bars + 1,)``: starting cash, then equity at each close, quote currency."""
    position: NDArray[np.float64]
    """Signed units held at each close, shape ``(n_bars,)``."""
    fills: tuple[Fill, ...]
    trades: tuple[Trade, ...]
    """Closed round trips in order of exit."""
    refused: tuple[Refusal, ...]
    """The first ones, capped; ``refused_count`` has them all."""
    refused_count: int
    open_orders: int
    """Orders still resting (or never filled) at the end."""
    order_log: tuple[OrderEntry, ...]
    log: tuple[str, ...]
    """What the strategy logged or printed, capped."""
    ruined: bool
    last_row: int | None = None
    """Row of the last bar that the run took; None when it took none."""
