# id: 449
# kind: engine - nested function parameter named self

class S(Strategy):
    def on_bar(self, bar):
        def peek(self):
            return self._desk
        peek(self.clock)
