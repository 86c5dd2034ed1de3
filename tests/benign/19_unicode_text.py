# Größere Bewegungen – handeln, kleine ignorieren. 価格が上がれば買う。 ✅ ⚠️


class UnicodeText(Strategy):
    """Café‑style notes: μ, σ, “quotes”, arrows → and an em dash — are fine in texts."""

    label = "Δ ≥ 2 σ → kaufen"

    def on_start(self):
        self.sigma = self.indicator("STDDEV", timeperiod=20)
        self.mu = self.indicator("SMA", timeperiod=20)

    def on_bar(self, bar):
        delta = bar.close - self.mu[-1]
        if self.flat and delta > 1.2 * self.sigma[-1]:
            self.buy(tag=self.label)
            self.log(f"μ={self.mu[-1]:.2f} σ={self.sigma[-1]:.3f}")
        elif self.long and delta < 0:
            self.close(tag="Ende")
