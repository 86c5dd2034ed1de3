from collections import OrderedDict, namedtuple
from typing import List, NamedTuple

Level = namedtuple("Level", "price touches", defaults=[0])


class Swing(NamedTuple):
    high: float
    low: float
    age: int = 0

    def older(self) -> "Swing":
        return self._replace(age=self.age + 1)


class SwingLevels(Strategy):
    def __init__(self, name, clock, bus, instrument, timeframe="1d"):
        super().__init__(name, clock, bus, instrument, timeframe)
        self.levels = OrderedDict()
        self.swings: List[Swing] = []

    def remember(self, price):
        key = round(price, 0)
        level = self.levels.get(key, Level(price))
        self.levels[key] = level._replace(touches=level.touches + 1)
        while len(self.levels) > 50:
            self.levels.popitem(last=False)

    def on_bar(self, bar):
        self.swings = [swing.older() for swing in self.swings if swing.age < 20]
        self.swings.append(Swing(bar.high, bar.low))
        self.remember(bar.close)
        highest = max(swing.high for swing in self.swings[:-1] or self.swings)
        if self.flat and bar.close > highest and len(self.swings) > 5:
            self.buy()
        elif self.long and bar.low < min(swing.low for swing in self.swings[-6:-1]):
            self.close()
