# id: 571
# kind: engine - store through an engine value's attribute

class S(Strategy):
    tick = 0

    def on_bar(self, bar):
        self.close_ = 1
        self.instrument.tick = 5
