# id: 447
# kind: engine - loop variable named self

class S(Strategy):
    def on_bar(self, bar):
        for self in (self.clock,):
            self.log(self._desk)
