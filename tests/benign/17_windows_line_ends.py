import math


class WindowsFile(Strategy):
    """Written on Windows:
    every line ends with two characters."""

    def on_start(self):
        self.roc = self.indicator("ROC", timeperiod=10)

    def on_bar(self, bar):
        if self.flat and self.roc[-1] > 1 and math.isfinite(self.roc[-1]):
            self.buy()
        elif self.long and \
                self.roc[-1] < -1:
            self.close()
