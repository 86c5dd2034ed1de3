# id: 463
# kind: nondeterminism - NormalDist.samples under a name of one's own
import statistics


class S(Strategy):
    def on_bar(self, bar):
        self.samples = 1
        d = statistics.NormalDist(0, 1) + statistics.NormalDist(0, 1)
        self.log(d.samples(2))
