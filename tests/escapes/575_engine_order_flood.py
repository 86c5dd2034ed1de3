# id: 575
# kind: engine - order flood

class S(Strategy):
    def on_bar(self, bar):
        for _ in range(10 ** 4): self.buy(1)
