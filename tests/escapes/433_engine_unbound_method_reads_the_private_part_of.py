# id: 433
# kind: engine - unbound method reads the private part of the clock

class S(Strategy):
    def set(self):
        self._desk = None
    def peek(self):
        return self._desk

    def on_bar(self, bar):
        self.log(S.peek(self.clock))
