"""Random markets, programs and configurations for the adapters of the strategy language."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from runtime import indicators
from runtime.desk import Action, Request
from runtime.kernel import AccountKind, Costs, RunConfig
from runtime.market.bars import Bars
from runtime.model import Instrument, OrderType, Timeframe
from runtime.sir.plan import Constant, IndicatorRef, MinuteOfDay, PlannedOperand, PlannedRule, PriceRef
from runtime.sir.program import Hours, Points, Program
from runtime.sir.vocabulary import Operator, PriceField
from runtime.sir.zone import Zone

DISTANCES = st.none() | st.floats(0.5, 60.0)
SHARES = st.none() | st.floats(0.001, 0.2)


@st.composite
def markets(draw: st.DrawFn, *, step: int = 86_400, longest: int = 160) -> Bars:
    """A random walk with gaps, wicks and repeated prices; with and without ticks, lots and a minimum notional."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, tick = draw(st.integers(1, longest)), draw(st.sampled_from([None, 0.01, 0.5]))
    close = 50.0 * np.exp(np.cumsum(rng.normal(0.0, 0.03, rows)))
    open_ = np.concatenate(([50.0], close[:-1])) * np.exp(rng.choice([0.0, 1.0], rows) * rng.normal(0.0, 0.02, rows))
    wick = np.abs(rng.normal(0.0, 0.01, (2, rows))) * rng.choice([0.0, 1.0], (2, rows))
    high, low = np.maximum(open_, close) * (1.0 + wick[0]), np.minimum(open_, close) * (1.0 - wick[1])
    columns = [np.round(each, 2) if tick else each for each in (open_, high, low, close)]
    return Bars(
        instrument=Instrument(
            symbol="X",
            bars_per_year=252,
            tick=tick,
            lot=draw(st.sampled_from([None, 1.0, 0.01])),
            min_notional=draw(st.sampled_from([0.0, 5_000.0])),
        ),
        timeframe=Timeframe(step),
        ts=1_700_000_000 // 86_400 * 86_400 + np.arange(rows) * step,
        open=columns[0],
        high=columns[1],
        low=columns[2],
        close=columns[3],
        volume=np.ones(rows),
    )


CONFIGS = st.builds(
    lambda fee, minimum, slippage, delay, account: RunConfig(
        cash=10_000.0,
        costs=Costs(fee_bps=fee, fee_minimum=minimum, slippage_bps=slippage),
        decision_delay=delay,
        account=account,
    ),
    st.sampled_from([0.0, 10.0, 250.0]),
    st.sampled_from([0.0, 3.0]),
    st.sampled_from([0.0, 20.0, 9_990.0]),
    st.integers(0, 2),
    st.sampled_from(AccountKind),
)

_CALLS = [
    indicators.check("SMA", "close", {"timeperiod": 3}),
    indicators.check("RSI", "close", {"timeperiod": 4}),
    indicators.check("BBANDS.upper", "hl2", {"timeperiod": 5}),
    indicators.check("CDLDOJI", "close", {}),
    indicators.check("STDDEV", "volume", {"timeperiod": 2}),
]


@st.composite
def rules(draw: st.DrawFn, series: int) -> PlannedRule:
    def operand() -> PlannedOperand:
        kinds = [st.builds(IndicatorRef, st.integers(0, series - 1))] if series else []
        numbers = st.sampled_from([0.0, 1.0, 30.0, 50.0, 70.0, 100.0, 720.0])
        return draw(
            st.one_of(
                *kinds,
                st.builds(PriceRef, st.sampled_from(PriceField)),
                st.builds(Constant, numbers),
                st.just(MinuteOfDay()),
            )
        )

    return PlannedRule(left=operand(), operator=draw(st.sampled_from(Operator)), right=operand())


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Anything that the compiler could let through, and more: rules over every operand, every order, every limit of a day."""
    calls = tuple(draw(st.lists(st.sampled_from(_CALLS), max_size=3, unique=True)))
    groups = st.lists(st.lists(rules(len(calls)), min_size=1, max_size=2).map(tuple), max_size=3).map(tuple)
    kind = draw(st.sampled_from([None, None, OrderType.LIMIT, OrderType.MARKET_IF_TOUCHED]))
    bracket = {name: draw(SHARES) for name in ("stop_loss", "take_profit", "trail")}
    if draw(st.booleans()):
        entry = Request(0, Action.TARGET, kind, draw(st.sampled_from([1.0, 0.5, 0.1, -0.5])), **bracket)
    else:
        action = draw(st.sampled_from([Action.BUY, Action.BUY, Action.SELL]))
        entry = Request(0, action, kind, draw(st.sampled_from([1.0, 7.5, 100.0, 2_500.0])), **bracket)
    enter, leave = draw(groups), draw(groups)
    crosses = any(rule.operator.crosses for group in (*enter, *leave) for rule in group)
    return Program(
        calls=calls,
        need=2 if crosses else 1,
        enter=enter,
        leave=leave,
        entry=entry,
        points=draw(st.builds(Points, DISTANCES, DISTANCES, DISTANCES) | st.none()),
        offset=None if kind is None else draw(st.sampled_from([0.0, 0.01, 0.05])),
        hours=draw(st.sampled_from([None, None, Hours(540, 990)])),
        squares_off=draw(st.booleans()),
        zone=draw(st.sampled_from([Zone(), Zone("America/New_York")])),
        time_stop=draw(st.none() | st.integers(1, 12)),
        trades_per_day=draw(st.none() | st.integers(1, 3)),
        loss_share=draw(st.none() | st.sampled_from([0.01, 0.1])),
        loss_amount=draw(st.none() | st.sampled_from([50.0, 1_000.0])),
    )
