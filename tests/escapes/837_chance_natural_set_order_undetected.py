# id: 837
# kind: chance - natural set order undetected
class Rule:
    def __init__(self, n):
        self.n = n
class S(Strategy):
    def on_start(self):
        self.rules = {Rule(i) for i in range(6)}
    def on_bar(self, bar):
        if self.bar_count == 1:
            first = [r.n for r in self.rules]
            self.log(str(first))
            self.buy(1 + first[0])
