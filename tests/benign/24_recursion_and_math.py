import math
from math import exp, log1p, sqrt


def wavelet(values):
    """Averages of neighbours, again and again, until one value is left (Haar)."""
    if len(values) < 2:
        return values[:1]
    return wavelet([(a + b) / sqrt(2) for a, b in zip(values[::2], values[1::2])])


def logistic(x):
    return 1 / (1 + exp(-x)) if x > -50 else 0.0


class Haar(Strategy):
    def on_start(self):
        self.need(32)

    def on_bar(self, bar):
        bars = self.history(32)
        changes = [log1p(after.close / before.close - 1) for before, after in zip(bars, bars[1:])]
        energy = math.hypot(*changes)
        drift, = wavelet(changes)
        odds = logistic(4 * drift / energy) if energy else 0.5
        if self.flat and odds > 0.6:
            self.target(round(min(max(odds, 0.1), 1.0), 2))
        elif self.long and odds < 0.45:
            self.close()
