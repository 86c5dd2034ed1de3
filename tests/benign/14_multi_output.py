class BandsAndMacd(Strategy):
    """Outputs of functions that have several."""

    def on_start(self):
        self.upper = self.indicator("BBANDS.upper", timeperiod=20, nbdevup=2.0, nbdevdn=2.0)
        self.lower = self.indicator("BBANDS.lower", timeperiod=20, nbdevup=2.0, nbdevdn=2.0)
        self.hist = self.indicator("MACD.hist", fastperiod=12, slowperiod=26, signalperiod=9)
        self.hammer = self.indicator("CDLHAMMER")

    def on_bar(self, bar):
        squeeze = (self.upper[-1] - self.lower[-1]) / bar.close < 0.08
        turning = self.hist[-1] > self.hist[-2]
        if self.flat and turning and (squeeze or self.hammer[-1] > 0 or bar.close < self.lower[-1]):
            self.target(0.7, stop_loss=0.06, take_profit=0.18)
        elif self.long and self.hist[-1] < 0 and not turning:
            self.close()
