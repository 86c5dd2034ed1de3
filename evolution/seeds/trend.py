class Trend(Strategy):
    """Own the market while a fast average is above a slow one and the move has strength."""

    fast_window = param(12, low=5, high=50)
    slow_window = param(50, low=25, high=200)
    strength_window = param(14, low=7, high=40)
    min_strength = param(15.0, low=5.0, high=35.0)

    def on_start(self):
        self.fast = self.indicator("EMA", source="close", timeperiod=self.fast_window)
        self.slow = self.indicator("EMA", source="close", timeperiod=self.slow_window)
        self.strength = self.indicator("ADX", timeperiod=self.strength_window)

    def on_bar(self, bar):
        strong = self.strength[-1] > self.min_strength
        if self.flat and strong and self.fast[-1] > self.slow[-1] and bar.close > self.fast[-1]:
            self.target(1.0, trail=0.15)
        elif self.long and self.fast[-1] < self.slow[-1]:
            self.close()
