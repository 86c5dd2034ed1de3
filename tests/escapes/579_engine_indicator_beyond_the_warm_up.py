# id: 579
# kind: engine - indicator beyond the warm-up

class S(Strategy):
    def on_start(self):
        self.indicator("SMA", timeperiod=2000)

    def on_bar(self, bar):
        pass
