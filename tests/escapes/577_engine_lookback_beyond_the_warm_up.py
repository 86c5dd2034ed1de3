# id: 577
# kind: engine - lookback beyond the warm-up

class S(Strategy):
    def on_start(self):
        self.need(251)

    def on_bar(self, bar):
        pass
