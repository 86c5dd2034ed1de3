# id: 767
# kind: engine - forged clock
class D:
    def __init__(self, bar):
        self.bar = bar
        self.step_s = 60
class S(Strategy):
    def __init__(self, name, clock, bus, instrument, timeframe):
        self.d = D(None)
        super().__init__(name, Clock(self.d), bus, instrument, timeframe)

    def on_bar(self, bar):
        self.d.bar = bar
        if self.bar_count == 1:
            self.log(str(self.clock.now()))
