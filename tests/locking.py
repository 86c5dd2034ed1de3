"""A strategy that asks for more on every bar, and guards that soon say no and lock."""

from __future__ import annotations

from runtime.paper.limits import RiskLimits
from runtime.strategy import Strategy

# A first order is refused for the drawdown of a day that has not begun: what matters is the lock.
LOCKING = RiskLimits(
    order_notional=None, price_deviation=None, exposure=None, cooldown_minutes=None, low_profit=None, daily_loss=None,
    max_drawdown=0.0001, trades_per_day=None,
)  # fmt: skip


class Eager(Strategy):
    """Adds on every bar."""

    def on_bar(self, bar):
        self.buy(50)
