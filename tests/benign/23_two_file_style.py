#!/usr/bin/env python
"""A file with helper classes that inherit from each other, and a base-class hook."""

from dataclasses import asdict, astuple, dataclass, fields, replace
import dataclasses as dc
import collections as c
import statistics as st


@dataclass(order=True)
class Trade:
    pnl: float
    bars: int = 0

    def __post_init__(self):
        self.won = self.pnl > 0


class Book(list):
    def win_rate(self):
        return st.fmean(trade.won for trade in self) if self else 0.5


class Rule:
    name = "rule"

    def vote(self, strategy, bar):
        raise NotImplementedError

    def describe(self):
        return f"{self.name:>10}|{self.vote!r:.10}"


class Trend(Rule):
    name = "trend"

    def __init__(self, lookback=30):
        super().__init__()
        self.lookback = lookback

    def vote(self, strategy, bar):
        past = strategy.history(self.lookback)
        return 1 if bar.close > past[0].close else -1


class Pullback(Trend):
    name = "pullback"

    def vote(self, strategy, bar):
        against = -super().vote(strategy, bar)
        return against if strategy.history(2)[0].close > bar.close else 0


class Committee(Strategy):
    rules = (Trend(), Trend(60), Pullback(5))

    def on_start(self):
        self.book = Book()
        self.plan = dc.replace(Trade(0.0), bars=1)
        self.entered = 0
        self.tally = c.Counter()

    def on_bar(self, bar):
        votes = [rule.vote(self, bar) for rule in self.rules]
        self.tally.update(rule.name for rule, vote in zip(self.rules, votes) if vote > 0)
        if self.flat and sum(votes) > 0:
            self.buy()
            self.entered = self.bar_count
        elif self.long and sum(votes) < 0:
            trade = replace(self.plan, pnl=bar.close - self.entry_price, bars=self.bar_count - self.entered)
            self.book.append(trade)
            self.close()

    def on_stop(self):
        for trade in sorted(self.book, reverse=True)[:3]:
            self.log(asdict(trade), astuple(trade), [field.name for field in fields(trade)])
        self.log(f"{self.book.win_rate():.0%}", dict(self.tally))
