"""What a hostile candidate would like to have: a secret of the host, and somebody else's run to disturb."""

from __future__ import annotations

from runtime.source import StrategySource

SECRET = "a-secret-that-only-the-host-knows"

VICTIM = StrategySource(b"""
class Victim(Strategy):
    def on_start(self):
        self.average = self.indicator("SMA", timeperiod=10)

    def on_bar(self, bar):
        if self.flat and bar.close > self.average[-1]:
            self.buy(stop_loss=0.05)
        elif self.long and bar.close < self.average[-1]:
            self.close()
        self.log(sum([1, 2]), bar.close)
""")
