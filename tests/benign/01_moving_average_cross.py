"""Two moving averages and a stop, the way a textbook writes it."""


class MovingAverageCross(Strategy):
    fast_period = param(10, low=5, high=50)
    slow_period = param(30, low=20, high=200)

    def on_start(self):
        self.fast = self.indicator("SMA", timeperiod=self.fast_period)
        self.slow = self.indicator("SMA", timeperiod=self.slow_period)

    def on_bar(self, bar):
        if self.flat and crossed_above(self.fast, self.slow):
            self.buy(stop_loss=0.05, tag="cross up")
        elif self.long and crossed_below(self.fast, self.slow):
            self.close(tag="cross down")
