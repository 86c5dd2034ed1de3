# id: 667
# kind: engine - cash set on self

class S(Strategy):
    def on_bar(self, bar):
        self.cash = 1e12
