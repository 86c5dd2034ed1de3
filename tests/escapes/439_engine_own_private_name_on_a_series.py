# id: 439
# kind: engine - own private name on a series

class S(Strategy):
    def on_start(self):
        self.s = self.indicator("SMA", timeperiod=5)
        self._past = None
    def wipe(self):
        self._past.clear()

    def on_bar(self, bar):
        S.wipe(self.s)
