"""The bus connects a strategy's own methods and nothing else."""

from __future__ import annotations

import pytest

from runtime.bus import MAX_LISTENERS, MessageBus
from runtime.desk import StrategyError


def test_messages_reach_handlers_in_order_until_they_unsubscribe():
    bus, seen = MessageBus(), []
    first, second = (lambda m: seen.append(("first", m))), (lambda m: seen.append(("second", m)))
    bus.subscribe("exit", first)
    bus.subscribe("exit", second)
    bus.publish("exit", 1)
    bus.publish("entry", 2)
    bus.unsubscribe("exit", first)
    bus.unsubscribe("unknown", first)
    bus.publish("exit")
    assert seen == [("first", 1), ("second", 1), ("second", None)]


def test_handlers_are_capped():
    bus = MessageBus()
    for _ in range(MAX_LISTENERS):
        bus.subscribe("x", print)
    with pytest.raises(StrategyError, match="at most 100"):
        bus.subscribe("y", print)


def test_messages_that_cause_messages_end():
    bus = MessageBus()
    bus.subscribe("x", lambda m: bus.publish("x", m))
    with pytest.raises(StrategyError, match="nested"):
        bus.publish("x")
    bus.subscribe("y", lambda m: None)
    bus.publish("y")


@pytest.mark.parametrize(("topic", "handler"), [(1, print), ("x", 5)])
def test_a_wrong_subscription_is_told(topic, handler):
    with pytest.raises(StrategyError, match="takes a text and a function"):
        MessageBus().subscribe(topic, handler)


def test_a_forged_event_changes_nothing_in_a_run():
    """In another system, publishing a forged fill on the injected bus gave a Sharpe ratio of 45.9."""
    import numpy as np

    from runtime.kernel import RunConfig, run_strategy
    from runtime.market.bars import Bars
    from runtime.model import Instrument, Timeframe
    from runtime.strategy import INJECTED, Strategy

    class Forger(Strategy):
        def on_bar(self, bar):
            fill = INJECTED["Fill"](
                ts=bar.ts, side=INJECTED["Side"].BUY, quantity=1e6, price=1.0, fee=0.0, tag="", order_id=1
            )
            for topic in ("fill", "OrderFilled", "*", "on_fill"):
                self.bus.publish(topic, fill)

    price = np.linspace(100, 110, 5)
    bars = Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=np.arange(5) * 86_400,
        open=price, high=price, low=price, close=price, volume=price,
    )  # fmt: skip
    report = run_strategy(Forger, bars, RunConfig())
    assert report.failure is None
    assert report.fills == ()
    assert report.equity.tolist() == [100_000.0] * 6
