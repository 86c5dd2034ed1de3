# id: 467
# kind: shared-state - attribute on an injected function

class S(Strategy):
    def on_bar(self, bar):
        f = crossed_above
        f.seen = bar.close
        self.seen = 1
