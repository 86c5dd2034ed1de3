# id: 835
# kind: chance - natural set order
class Rule:
    def __init__(self, n):
        self.n = n
RULES = {Rule(i) for i in range(6)}
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1 and self.instrument.symbol != "SMOKE":
            first = [r.n for r in RULES]
            self.log(str(first))
            self.buy(1 + first[0])
