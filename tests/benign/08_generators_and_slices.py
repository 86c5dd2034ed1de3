from typing import Iterator


def pairs(values):
    yield from zip(values, values[1:])


def runs(values) -> Iterator[int]:
    """Lengths of the stretches in which values rise."""
    length = 0
    for before, after in pairs(values):
        if after > before:
            length += 1
        elif length:
            yield length
            length = 0
    if length:
        yield length


class RunLengths(Strategy):
    def on_start(self):
        self.need(40)

    def on_bar(self, bar):
        closes = [past.close for past in self.history(40)]
        recent, older = closes[-20:], closes[:-20]
        longest = max(runs(recent), default=0)
        first, *middle, last = recent
        if self.flat and longest >= 3 and last > first and sum(recent) > sum(older):
            self.buy(take_profit=0.15, stop_loss=0.07)
        elif self.long and longest <= 1 and all(value < first for value in middle[-3:]):
            self.close()
