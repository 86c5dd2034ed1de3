from collections import Counter, defaultdict, deque
from statistics import StatisticsError, mean, stdev

LENGTH = 15


class Regimes(Strategy):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.returns = deque(maxlen=LENGTH)
        self.seen = Counter()
        self.by_weekday = defaultdict(list)
        self.previous = None

    def regime(self):
        try:
            average, spread = mean(self.returns), stdev(self.returns)
        except StatisticsError:
            return "unknown"
        if spread > 0.02:
            return "wild"
        return "rising" if average > 0 else "falling"

    def on_bar(self, bar):
        if self.previous is not None:
            change = bar.close / self.previous - 1
            self.returns.append(change)
            self.by_weekday[bar.ts.weekday()].append(change)
        self.previous = bar.close
        now = self.regime()
        self.seen[now] += 1
        if now == "rising" and self.flat:
            self.target(0.8)
        elif now in {"falling", "wild"} and self.long:
            self.close()

    def on_stop(self):
        for name, count in self.seen.most_common():
            print(name, count, sep=": ")
