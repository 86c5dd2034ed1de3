import math


class LimitLadder(Strategy):
    """Rests limit orders below the market and lets go of them after a while."""

    steps = (0.01, 0.02, 0.035)

    def on_start(self):
        self.placed_at = {}
        self.atr = self.indicator("ATR", timeperiod=14)

    def on_fill(self, fill):
        self.placed_at.pop(fill.order_id, None)
        self.log(f"{fill.side.value} {fill.quantity:.4f} @ {fill.price:.2f} fee {fill.fee:.2f}")

    def on_bar(self, bar):
        for order_id in [key for key, age in self.placed_at.items() if self.bar_count - age > 5]:
            self.cancel(order_id)
            del self.placed_at[order_id]
        if self.flat and not self.open_orders:
            budget = self.cash / (len(self.steps) + 1)
            for step in self.steps:
                price = bar.close * (1 - step)
                quantity = math.floor(budget / price)
                if quantity >= 1:
                    self.placed_at[self.buy(quantity, limit=price, tag=f"step {step:.3f}")] = self.bar_count
        elif self.long and bar.close > self.entry_price + 1.5 * self.atr[-1]:
            self.close()

    def on_stop(self):
        self.log("open orders left: %d" % len(self.open_orders))
