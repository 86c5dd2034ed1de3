# id: 771
# kind: engine - series indices
class S(Strategy):
    def on_start(self):
        self.sma = self.indicator('SMA', timeperiod=5)
    def on_bar(self, bar):
        if self.bar_count == 1:
            for i in (0, -251, 1, 10**30, -10**30, 1.5, None, True, 'x', slice(None), slice(-3, None), slice(None, None, -1), slice(None, None, 0)):
                try:
                    v = self.sma[i]
                    self.log(str(i), str(v)[:60], str(len(v)) if isinstance(v, tuple) else '')
                except Exception as e:
                    self.log(str(i), str(e)[:80])
