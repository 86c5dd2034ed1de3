class AtrChannel(Strategy):
    """Buy strength beyond a channel of average ranges around an average, leave on weakness below its lower side."""

    middle_window = param(20, low=10, high=100)
    range_window = param(14, low=5, high=50)
    entry_ranges = param(1.0, low=0.25, high=4.0)
    exit_ranges = param(0.5, low=0.0, high=3.0)

    def on_start(self):
        self.middle = self.indicator("EMA", source="close", timeperiod=self.middle_window)
        self.range = self.indicator("ATR", timeperiod=self.range_window)

    def on_bar(self, bar):
        upper = self.middle[-1] + self.entry_ranges * self.range[-1]
        lower = self.middle[-1] - self.exit_ranges * self.range[-1]
        if self.flat and bar.close > upper:
            self.target(1.0, stop_loss=0.1)
        elif self.long and bar.close < lower:
            self.close()
