class MeanReversion(Strategy):
    """Buy a dip inside a rising market, sell the recovery."""

    dip_window = param(5, low=2, high=20)
    trend_window = param(100, low=40, high=200)
    dip_level = param(35.0, low=10.0, high=45.0)
    recovery_level = param(60.0, low=50.0, high=85.0)

    def on_start(self):
        self.dip = self.indicator("RSI", source="close", timeperiod=self.dip_window)
        self.trend = self.indicator("SMA", source="close", timeperiod=self.trend_window)

    def on_bar(self, bar):
        if self.flat and self.dip[-1] < self.dip_level and bar.close > self.trend[-1]:
            self.target(1.0, stop_loss=0.1)
        elif self.long and (self.dip[-1] > self.recovery_level or bar.close < 0.97 * self.trend[-1]):
            self.close()
