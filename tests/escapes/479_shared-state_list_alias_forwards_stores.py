# id: 479
# kind: shared-state - list[...] alias forwards stores

class S(Strategy):
    def on_bar(self, bar):
        a = list[Bar]
        a.seen = 1
        self.seen = 1
