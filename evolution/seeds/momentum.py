class Momentum(Strategy):
    """Hold what has gained over the past quarter while it still gains over the past weeks."""

    long_window = param(60, low=20, high=200)
    short_window = param(20, low=5, high=60)
    min_gain = param(3.0, low=0.0, high=15.0)
    max_loss = param(-2.0, low=-10.0, high=2.0)
    weight = param(0.95, low=0.25, high=1.0)

    def on_start(self):
        self.slow_gain = self.indicator("ROC", source="close", timeperiod=self.long_window)
        self.fast_gain = self.indicator("ROC", source="close", timeperiod=self.short_window)

    def on_bar(self, bar):
        if self.flat and self.slow_gain[-1] > self.min_gain and self.fast_gain[-1] > 0.0:
            self.target(self.weight, stop_loss=0.12)
        elif self.long and self.fast_gain[-1] < self.max_loss:
            self.close()
