# id: 471
# kind: shared-state - attribute on an exported function
import statistics


class S(Strategy):
    def on_bar(self, bar):
        f = statistics.mean
        f.seen = bar.close
        self.seen = 1
