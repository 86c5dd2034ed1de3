"""The same moving-average cross on other engines, for ``bench_kernel.py``: one function each, native means only.

The problem: 10 and 30 bar simple averages of the close; in with all cash on a cross above, out on a cross below; decided
at a bar's close, filled at the next open, 10 bps a side, whole units, sized at the fill so that notional and fee are
covered. A function gets the market, does what its engine wants done once per data set, and gives a run: a call that
makes one complete backtest from the prepared data and returns the final equity.

The engines are installed in virtual environments of their own (``requirements-peers.txt``) and only ever run beside
ours, each in a process of its own: nothing of the product imports or ships them, and their licences differ.

    python benchmarks/kernel_peers.py ENGINE BARS     one run for each line on stdin, one JSON object on stdout for each
    python benchmarks/kernel_peers.py memory BARS     one run of ours; its peak resident memory
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Run = Callable[[], float]

CASH = 1_000_000.0
FEE = 0.001
FAST, SLOW = 10, 30

# Prices are rounded to this, which every engine can represent; coarser prices would make the averages tie.
DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """Hourly bars as columns of shape ``(n,)``; ``ts`` in seconds since 1970, the open of each bar."""

    ts: NDArray[np.int64]
    open: NDArray[np.float64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    close: NDArray[np.float64]
    volume: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ts)


def random_walk(n: int, seed: int = 1) -> Market:
    """A random walk of 0.5% a bar with gaps between the close and the next open."""
    random = np.random.default_rng(seed)
    close = 100.0 * np.exp(np.cumsum(random.normal(0.0, 0.005, n)))
    open_ = np.concatenate([[100.0], close[:-1]]) * np.exp(random.normal(0.0, 0.001, n))
    columns = {
        "open": open_,
        "high": np.maximum(open_, close) * 1.001,
        "low": np.minimum(open_, close) * 0.999,
        "close": close,
    }
    rounded = {name: column.round(DECIMALS) for name, column in columns.items()}
    return Market(ts=np.arange(n) * 3600, volume=np.full(n, 1e9), **rounded)


# The answer ---------------------------------------------------------------------------------------------------------


def average(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Simple moving average, shape ``(n,)``; NaN where there are too few values."""
    full = np.lib.stride_tricks.sliding_window_view(values, window).mean(axis=1)
    return np.concatenate([np.full(window - 1, np.nan), full])


def reference(market: Market) -> float:
    """Final equity of the problem in plain numpy and one loop over the crosses."""
    fast, slow = average(market.close, FAST), average(market.close, SLOW)
    above, below = fast > slow, fast < slow
    enter = np.zeros(len(market), dtype=np.bool_)
    leave = np.zeros(len(market), dtype=np.bool_)
    enter[1:] = above[1:] & (fast <= slow)[:-1]
    leave[1:] = below[1:] & (fast >= slow)[:-1]
    cash, units = CASH, 0.0
    for row in np.flatnonzero(enter | leave).tolist():
        if row + 1 == len(market):
            break
        price = float(market.open[row + 1])
        if enter[row] and not units:
            units = float(cash // (price * (1.0 + FEE)))
            cash -= units * price * (1.0 + FEE)
        elif leave[row] and units:
            cash += units * price * (1.0 - FEE)
            units = 0.0
    return cash + units * float(market.close[-1])


# Ours ---------------------------------------------------------------------------------------------------------------


def trigate(market: Market) -> Run:
    """The kernel, event by event, with everything on: refusals, order log, trades, equity curve."""
    from runtime.kernel import Costs, RunConfig, run_strategy
    from runtime.market.bars import Bars
    from runtime.model import Instrument, Timeframe
    from runtime.strategy import Strategy, crossed_above, crossed_below

    class Cross(Strategy):
        def on_start(self) -> None:
            self.fast = self.indicator("SMA", timeperiod=FAST)
            self.slow = self.indicator("SMA", timeperiod=SLOW)

        def on_bar(self, bar: Any) -> None:  # noqa: ARG002  # the hook's signature
            if self.flat:
                if crossed_above(self.fast, self.slow):
                    self.buy()
            elif crossed_below(self.fast, self.slow):
                self.close()

    bars = Bars(
        instrument=Instrument(symbol="WALK", bars_per_year=8760, lot=1.0),
        timeframe=Timeframe(3600),
        ts=market.ts,
        open=market.open,
        high=market.high,
        low=market.low,
        close=market.close,
        volume=market.volume,
    )
    rows = bars.rows()
    config = RunConfig(cash=CASH, costs=Costs(fee_bps=FEE * 10_000.0))
    return lambda: float(run_strategy(Cross, bars, config, rows=rows).equity[-1])


# Theirs -------------------------------------------------------------------------------------------------------------


def backtesting_py(market: Market) -> Run:
    """backtesting.py: its own next-open fills and relative size; its statistics are part of every run."""
    import pandas as pd
    from backtesting import Backtest, Strategy

    frame = pd.DataFrame(
        {
            "Open": market.open,
            "High": market.high,
            "Low": market.low,
            "Close": market.close,
            "Volume": market.volume,
        },
        index=pd.to_datetime(market.ts, unit="s"),
    )

    def simple(values: Any, window: int) -> Any:
        return pd.Series(values).rolling(window).mean()

    class Cross(Strategy):  # type: ignore[misc]  # untyped
        def init(self) -> None:
            self.fast = self.I(simple, self.data.Close, FAST)
            self.slow = self.I(simple, self.data.Close, SLOW)

        def next(self) -> None:
            fast, slow = self.fast, self.slow
            if not self.position:
                if fast[-1] > slow[-1] and fast[-2] <= slow[-2]:
                    self.buy()
            elif fast[-1] < slow[-1] and fast[-2] >= slow[-2]:
                self.position.close()

    def run() -> float:
        return float(Backtest(frame, Cross, cash=CASH, commission=FEE).run()["Equity Final [$]"])

    return run


def backtrader(market: Market) -> Run:
    """backtrader: sized at the open with its ``cheat_on_open`` hook, since its sizers only know the close before."""
    import backtrader as bt
    import pandas as pd

    frame = pd.DataFrame(
        {
            "open": market.open,
            "high": market.high,
            "low": market.low,
            "close": market.close,
            "volume": market.volume,
        },
        index=pd.to_datetime(market.ts, unit="s"),
    )

    class Cross(bt.Strategy):  # type: ignore[misc]  # untyped
        def __init__(self) -> None:
            self.fast = bt.ind.SMA(self.data.close, period=FAST)
            self.slow = bt.ind.SMA(self.data.close, period=SLOW)
            self.wish = 0

        def next(self) -> None:
            fast, slow = self.fast, self.slow
            self.wish = 0
            if not self.position:
                if fast[0] > slow[0] and fast[-1] <= slow[-1]:
                    self.wish = 1
            elif fast[0] < slow[0] and fast[-1] >= slow[-1]:
                self.wish = -1

        def next_open(self) -> None:
            if self.wish == 1:
                self.buy(size=self.broker.getcash() // (self.data.open[0] * (1.0 + FEE)))
            elif self.wish == -1:
                self.close()

    def run() -> float:
        cerebro = bt.Cerebro(cheat_on_open=True, stdstats=False)
        cerebro.adddata(bt.feeds.PandasData(dataname=frame))
        cerebro.addstrategy(Cross)
        cerebro.broker.setcash(CASH)
        cerebro.broker.setcommission(commission=FEE)
        cerebro.run()
        return float(cerebro.broker.getvalue())

    return run


def vectorbt(market: Market) -> Run:
    """vectorbt: averages, crosses, ``from_signals`` on the shifted signals, and the equity curve. Compiled beforehand."""
    import pandas as pd
    import vectorbt as vbt

    index = pd.to_datetime(market.ts, unit="s")
    open_, close = pd.Series(market.open, index=index), pd.Series(market.close, index=index)

    def run() -> float:
        fast, slow = vbt.MA.run(close, FAST), vbt.MA.run(close, SLOW)
        portfolio = vbt.Portfolio.from_signals(
            close,
            fast.ma_crossed_above(slow).vbt.fshift(1),
            fast.ma_crossed_below(slow).vbt.fshift(1),
            price=open_,
            fees=FEE,
            init_cash=CASH,
            size_granularity=1.0,
            freq="1h",
        )
        return float(portfolio.value().iloc[-1])

    return run


def nautilus_trader(market: Market) -> Run:
    """nautilus_trader: a trade tick at each open, sized and filled there; bars only tell. It has no next-open fill itself.

    Its money has a fixed number of decimals; a currency with eight of them keeps the fees' rounding below a cent.
    """
    from decimal import Decimal

    from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig
    from nautilus_trader.config import LoggingConfig, RiskEngineConfig
    from nautilus_trader.model.currencies import Currency
    from nautilus_trader.model.data import Bar, BarType, TradeTick
    from nautilus_trader.model.enums import AccountType, AggressorSide, CurrencyType, OmsType, OrderSide
    from nautilus_trader.model.identifiers import InstrumentId, Symbol, TradeId, Venue
    from nautilus_trader.model.instruments import Equity
    from nautilus_trader.model.objects import Money, Price, Quantity
    from nautilus_trader.trading.strategy import Strategy

    money = Currency("FINE", 8, 0, "FINE", CurrencyType.FIAT)
    venue = Venue("SIM")
    instrument = Equity(
        instrument_id=InstrumentId(Symbol("WALK"), venue),
        raw_symbol=Symbol("WALK"),
        currency=money,
        price_precision=DECIMALS,
        price_increment=Price(10.0**-DECIMALS, DECIMALS),
        lot_size=Quantity.from_int(1),
        ts_event=0,
        ts_init=0,
        maker_fee=Decimal(str(FEE)),
        taker_fee=Decimal(str(FEE)),
    )
    bar_type = BarType.from_str("WALK.SIM-1-HOUR-LAST-EXTERNAL")
    size = Quantity.from_int(1_000_000_000)
    data: list[Any] = []
    for row, ts in enumerate(market.ts.tolist()):
        opened, closed = ts * 1_000_000_000 + 1, (ts + 3600) * 1_000_000_000
        price = Price(market.open[row], DECIMALS)
        data.append(
            TradeTick(instrument.id, price, size, AggressorSide.NO_AGGRESSOR, TradeId(str(row)), opened, opened)
        )
        prices = (Price(column[row], DECIMALS) for column in (market.open, market.high, market.low, market.close))
        data.append(Bar(bar_type, *prices, size, closed, closed))

    class Cross(Strategy):  # type: ignore[misc]  # untyped
        def on_start(self) -> None:
            from nautilus_trader.indicators import SimpleMovingAverage

            self.fast, self.slow = SimpleMovingAverage(FAST), SimpleMovingAverage(SLOW)
            self.before = (0.0, 0.0)
            self.wish = 0
            self.bars = 0
            self.units = 0
            self.subscribe_trade_ticks(instrument.id)
            self.subscribe_bars(bar_type)
            self.register_indicator_for_bars(bar_type, self.fast)
            self.register_indicator_for_bars(bar_type, self.slow)

        def on_bar(self, bar: Any) -> None:  # noqa: ARG002  # the hook's signature
            fast, slow = self.fast.value, self.slow.value
            self.bars += 1
            self.wish = 0
            if self.bars > SLOW:
                if not self.units:
                    self.wish = int(fast > slow and self.before[0] <= self.before[1])
                elif fast < slow and self.before[0] >= self.before[1]:
                    self.wish = -1
            self.before = (fast, slow)

        def on_trade_tick(self, tick: Any) -> None:
            if self.wish == 1:
                free = self.cache.account_for_venue(venue).balance_free(money).as_double()
                self.units = int(free // (tick.price.as_double() * (1.0 + FEE)))
                self._send(OrderSide.BUY)
            elif self.wish == -1:
                self._send(OrderSide.SELL)
                self.units = 0
            self.wish = 0

        def _send(self, side: Any) -> None:
            self.submit_order(self.order_factory.market(instrument.id, side, Quantity.from_int(self.units)))

    config = BacktestEngineConfig(
        logging=LoggingConfig(bypass_logging=True), risk_engine=RiskEngineConfig(bypass=True), run_analysis=False
    )

    def run() -> float:
        engine = BacktestEngine(config=config)
        engine.add_venue(
            venue=venue,
            oms_type=OmsType.NETTING,
            account_type=AccountType.CASH,
            base_currency=money,
            starting_balances=[Money(CASH, money)],
            bar_execution=False,
        )
        engine.add_instrument(instrument)
        engine.add_data(data)
        strategy = Cross()
        engine.add_strategy(strategy)
        engine.run()
        cash = engine.portfolio.account(venue).balance_total(money).as_double()
        equity = cash + strategy.units * float(market.close[-1])
        engine.dispose()
        return float(equity)

    return run


OURS = "trigate"
PEERS: Mapping[str, Callable[[Market], Run]] = {
    "backtesting": backtesting_py,
    "backtrader": backtrader,
    "nautilus_trader": nautilus_trader,
    "vectorbt": vectorbt,
}
"""By the name of the distribution."""


# A process of its own -----------------------------------------------------------------------------------------------


def tell(**fields: object) -> None:
    """One line for the process that asked."""
    sys.__stdout__.write(json.dumps(fields) + "\n")  # type: ignore[union-attr]  # it is there
    sys.__stdout__.flush()  # type: ignore[union-attr]  # same


def serve(name: str, bars: int) -> None:
    """Prepare an engine, run it once (compilers and caches warm up), then run it for every line that comes."""
    sys.stdout = sys.stderr  # engines print
    warnings.simplefilter("ignore")
    run = {OURS: trigate, **PEERS}[name](random_walk(bars))
    run()
    tell(ready=True)
    for _ in sys.stdin:
        start = time.process_time()
        equity = run()
        tell(cpu_s=time.process_time() - start, equity=equity)


def peak(bars: int) -> None:
    """The most memory that one run of ours held, columns, rows and result included."""
    equity = trigate(random_walk(bars))()
    tell(peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, equity=equity)


if __name__ == "__main__":
    if sys.argv[1] == "memory":
        peak(int(sys.argv[2]))
    else:
        serve(sys.argv[1], int(sys.argv[2]))
