# id: 469
# kind: shared-state - attribute on an enum member

class S(Strategy):
    def on_bar(self, bar):
        s = Side.BUY
        s.seen = bar.close
        self.seen = 1
