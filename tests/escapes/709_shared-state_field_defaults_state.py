# id: 709
# kind: shared-state - field defaults state
class Helper:
    def __init__(self):
        self._field_defaults = None
    def peek(self):
        return self._field_defaults
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            d = Helper.peek(bar)
            self.log(str(dict(d)))
            if self.instrument.symbol != "SMOKE":
                d["seen"] = d.get("seen", 0) + 1
