# id: 461
# kind: nondeterminism - NormalDist.samples
import statistics


class S(Strategy):
    def on_bar(self, bar):
        self.log(statistics.NormalDist(0, 1).samples(2))
