# id: 473
# kind: shared-state - attribute on an exported class
from collections import Counter


class S(Strategy):
    def on_bar(self, bar):
        c = Counter
        c.seen = bar.close
        self.seen = 1
