# id: 457
# kind: nondeterminism - wall clock under the name of the clock

class S(Strategy):
    def on_bar(self, bar):
        self.clock = bar.ts
        self.log(self.clock.now())
