# id: 747
# kind: engine - cancel shapes
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            for v in (True, 1.0, 10**30, 'x', -1, 0, None, 2**63):
                self.cancel(v)
