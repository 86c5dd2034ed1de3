# id: 459
# kind: nondeterminism - local variable named clock

class S(Strategy):
    def on_bar(self, bar):
        clock = bar.ts
        self.log(clock.utcnow())
