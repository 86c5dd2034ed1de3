"""Several weak signals, added up. Shows lambdas, sorting and dictionaries."""

import json

SIGNALS = {
    "momentum": lambda s: s.roc[-1] > 0,
    "oversold": lambda s: s.rsi[-1] < 40,
    "above": lambda s: s.last.close > s.ema[-1],
    "quiet": lambda s: s.atr[-1] / s.last.close < 0.02,
}
WEIGHTS = dict(momentum=2.0, oversold=1.0, above=1.5, quiet=0.5)


class ScoreTable(Strategy):
    enter_at = param(3.0, low=1.0, high=5.0)
    leave_at = param(1.0, low=0.0, high=3.0)

    def on_start(self):
        self.roc = self.indicator("ROC", timeperiod=20)
        self.rsi = self.indicator("RSI", timeperiod=14)
        self.ema = self.indicator("EMA", timeperiod=50)
        self.atr = self.indicator("ATR", timeperiod=14)
        self.last = None

    def on_bar(self, bar):
        self.last = bar
        votes = {name: WEIGHTS[name] for name, signal in SIGNALS.items() if signal(self)}
        total = sum(votes.values())
        if self.flat and total >= self.enter_at:
            ranked = sorted(votes, key=lambda name: (-votes[name], name))
            self.log(json.dumps({"score": round(total, 2), "because": ranked}))
            self.target(min(1.0, total / 5))
        elif self.long and total <= self.leave_at:
            self.close()
