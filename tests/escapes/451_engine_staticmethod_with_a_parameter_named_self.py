# id: 451
# kind: engine - staticmethod with a parameter named self

class S(Strategy):
    def on_start(self):
        self._listeners = 0
    @staticmethod
    def peek(self):
        return self._listeners

    def on_bar(self, bar):
        S.peek(self.clock)
