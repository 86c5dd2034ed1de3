# id: 769
# kind: engine - on fill recursion
class S(Strategy):
    def on_fill(self, fill):
        self.buy(1)
        self.sell(1)
    def on_bar(self, bar):
        if self.flat:
            self.buy(1)
