# id: 567
# kind: engine - frozen object changed by its own constructor

class S(Strategy):
    def on_bar(self, bar):
        Timeframe.__init__(self.timeframe, 60)
