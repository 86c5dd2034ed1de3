class Breakout(Strategy):
    """Buy a close above the highest high of some weeks, leave below the lowest low of a shorter stretch."""

    entry_window = param(30, low=10, high=120)
    exit_window = param(15, low=5, high=60)

    def on_start(self):
        self.upper = self.indicator("MAX", source="high", timeperiod=self.entry_window)
        self.lower = self.indicator("MIN", source="low", timeperiod=self.exit_window)

    def on_bar(self, bar):
        if self.flat and bar.close > self.upper[-2]:
            self.target(1.0, stop_loss=0.08)
        elif self.long and bar.close < self.lower[-2]:
            self.close()
