# id: 445
# kind: engine - lambda that calls its parameter self

class S(Strategy):
    def on_bar(self, bar):
        peek = lambda self: self._desk
        self.log(peek(self.clock))
