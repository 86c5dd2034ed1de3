class Contraction(Strategy):
    """After a quiet stretch, follow the first strong close on rising volume; demand more of the trade as it ages."""

    quiet_window = param(15, low=5, high=40)
    usual_window = param(80, low=40, high=200)
    volume_window = param(20, low=5, high=60)
    calm = param(0.9, low=0.4, high=1.5)
    surge = param(1.1, low=0.8, high=2.5)
    patience = param(40, low=10, high=120)
    floor = param(0.94, low=0.8, high=0.99)
    decay = param(0.002, low=0.0, high=0.01)

    def on_start(self):
        self.entered_at = 0
        self.narrow = self.indicator("STDDEV", source="close", timeperiod=self.quiet_window)
        self.wide = self.indicator("STDDEV", source="close", timeperiod=self.usual_window)
        self.upper = self.indicator("MAX", source="close", timeperiod=self.quiet_window)
        self.usual_volume = self.indicator("SMA", source="volume", timeperiod=self.volume_window)

    def on_fill(self, fill):
        if fill.side is Side.BUY:
            self.entered_at = self.bar_count

    def on_bar(self, bar):
        age = self.bar_count - self.entered_at
        if (
            self.flat
            and self.narrow[-2] < self.calm * self.wide[-2]
            and bar.volume > self.surge * self.usual_volume[-1]
            and bar.close > self.upper[-2]
        ):
            self.target(1.0)
        elif self.long and (age > self.patience or bar.close < self.entry_price * (self.floor + self.decay * age)):
            self.close()
