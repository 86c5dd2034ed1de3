"""
Paragraph 0: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 1: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 2: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 3: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 4: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 5: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 6: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 7: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 8: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 9: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 10: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 11: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 12: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 13: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 14: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 15: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 16: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 17: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 18: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 19: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 20: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 21: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 22: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 23: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 24: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 25: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 26: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 27: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 28: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 29: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 30: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 31: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 32: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 33: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 34: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 35: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 36: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 37: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 38: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 39: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 40: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 41: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 42: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 43: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 44: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 45: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 46: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 47: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 48: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 49: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 50: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 51: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 52: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 53: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 54: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 55: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 56: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 57: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 58: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
Paragraph 59: why the idea may work, on which markets, and what would prove it wrong; kept with the code.
"""


class Documented(Strategy):
    window = param(25, low=10, high=60)
    """Bars that count as recent."""

    def on_start(self):
        self.aroon = self.indicator("AROONOSC", timeperiod=self.window)

    def on_bar(self, bar):
        if self.flat and self.aroon[-1] > 30:
            self.target(1.0)
        elif self.long and self.aroon[-1] < -30:
            self.target(0.0)
