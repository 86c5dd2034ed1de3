"""Random worlds for the kernel's tests: bars, orders of every kind, a venue and an account, all from one seed."""

from __future__ import annotations

import numpy as np

from runtime.kernel import AccountKind, Costs, RunConfig
from runtime.market.bars import Bars
from runtime.model import Instrument, Order, OrderType, Side, Timeframe
from runtime.strategy import Strategy

BRACKET = ("stop_loss", "take_profit", "trail")


def wild_world(seed):
    """Bars, orders, venue and account from one seed: longer, busier and more borrowed than what is drawn value by value."""
    random = np.random.default_rng(seed)

    def pick(*choices):
        return choices[random.integers(len(choices))]

    def price_near(price, spread):
        return round(float(price * (1 + random.normal(0, spread))), 2)

    scale = pick(0.002, 0.01, 0.04)
    last, rows = 100.0, []
    for _ in range(60):
        opened = last * (1 + random.normal(0, scale / 2)) * pick(*[1.0] * 30, 0.6, 1.6)
        closed = opened * (1 + random.normal(0, scale))
        high = max(opened, closed) * (1 + abs(random.normal(0, scale / 2)))
        low = min(opened, closed) * (1 - abs(random.normal(0, scale / 2)))
        rows.append(tuple(round(float(price), 2) for price in (opened, high, low, closed)))
        last = rows[-1][3]
    account, cash = pick(*AccountKind), pick(1_000.0, 100_000.0)
    instrument = Instrument(
        symbol="X",
        bars_per_year=252.0,
        lot=pick(None, None, 1.0, 0.1),
        tick=pick(None, None, 0.01, 0.25),
        min_notional=pick(0.0, 0.0, 100.0),
        initial_margin=pick(0.2, 0.5),
        maintenance_margin=pick(None, 0.15),
        borrow_bps_per_year=pick(0.0, 800.0),
    )
    costs = Costs(
        fee_bps=pick(0.0, 10.0, 60.0),
        fee_per_unit=pick(0.0, 0.004),
        fee_minimum=pick(0.0, 2.0),
        slippage_bps=pick(0.0, 0.0, 9.0),
    )
    config = RunConfig(cash=cash, costs=costs, account=account, start=pick(0, 3), decision_delay=pick(0, 0, 0, 2))
    most = 1.0 if account is AccountKind.CASH else 1.0 / instrument.initial_margin

    def quantity():
        return pick(None, round(float(cash * most * random.uniform(0.02, 1.1) / 100), pick(0, 3)))

    def bracket():
        shares = {name: pick(None, None, round(float(scale * random.uniform(0.3, 4)), 4)) for name in BRACKET}
        return {name: share for name, share in shares.items() if share}

    def action(near):
        verb = pick("buy", "sell", "submit", "submit", "submit", "target", "close", "cancel")
        prices = {name: price_near(near, scale) for name in ("limit", "stop") if random.random() < 0.4}
        if verb == "cancel":
            return verb, {"id": pick(None, int(random.integers(1, 60)))}
        if verb == "close":
            return verb, prices
        if verb == "target":
            weight = round(float(random.uniform(-most, most)), 2)
            return verb, {"weight": pick(0.0, weight, weight, abs(weight), most), **prices, **bracket()}
        if verb != "submit":
            return verb, {"quantity": quantity(), **prices, **bracket()}
        kind = pick(*OrderType)
        values = {"side": pick(*Side), "type": kind, "quantity": quantity()}
        if kind is OrderType.TRAILING_STOP:
            return verb, {**values, "trail": round(float(scale * random.uniform(0.2, 2)), 4)}
        if kind in {OrderType.LIMIT, OrderType.STOP_LIMIT}:
            values["limit"] = price_near(near, scale)
        if kind in {OrderType.STOP, OrderType.STOP_LIMIT, OrderType.MARKET_IF_TOUCHED}:
            values["stop"] = price_near(near, scale)
        return verb, {**values, **bracket()}

    busy = pick(0.15, 0.5)
    plan = [[action(row[3]) for _ in range(random.integers(1, 4))] if random.random() < busy else [] for row in rows]
    return rows, plan[config.start :] + [[]] * config.start, instrument, config


def make_bars(rows, instrument):
    opened, high, low, close = np.array(rows).T
    return Bars(
        instrument=instrument,
        timeframe=Timeframe(86_400),
        ts=np.arange(len(rows)) * 86_400,
        open=opened,
        high=high,
        low=low,
        close=close,
        volume=np.ones(len(rows)),
    )


def planned(plan):
    class Planned(Strategy):
        def on_bar(self, bar):
            for verb, values in plan[self.bar_count - 1]:
                if verb == "submit":
                    self.submit(Order(**values))
                else:
                    getattr(self, verb)(**values)

    return Planned
