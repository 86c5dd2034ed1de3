"""Dates in texts, templates, class counters, names with ordinary prefixes, deleted state."""
from enum import Enum
from typing import Generic, NamedTuple, TypedDict, TypeVar

T = TypeVar("T")
TEMPLATE = "{} at {price:.2f}"


class Signal(NamedTuple):
    side: str
    price: float = 0.0

    def text(self):
        return "%s %.2f" % self


class Row(TypedDict):
    month: str


class Speed(Enum):
    SLOW = (30, 0.02)
    FAST = (10, 0.01)

    def __init__(self, window, band):
        self._window = window
        self.band = band

    def window(self):
        return self._window


class Box(Generic[T]):
    def __init__(self, value):
        self._value = value

    def get(self):
        return self._value


class Dates(Strategy):
    seen = 0

    def on_start(self):
        self.f_fast = self.indicator("SMA", timeperiod=Speed.FAST.window())
        self.co_slow = self.indicator("SMA", timeperiod=Speed.SLOW.window())
        self.format = "%Y-%m"
        self.object = None
        self.modules = []
        a = 1; b = 2; c = 3; d = 4; e = 5; f = 6; g = 7; h = 8; i = 9; j = 10; k = 11; m = 12; n = 13; o = 14
        self.modules.append(a + b + c + d + e + f + g + h + i + j + k + m + n + o)

    def on_bar(self, bar):
        Dates.seen += 1
        row = Row(month=bar.ts.strftime(self.format))
        self.log(f"{bar.ts:%Y-%m-%d} {row['month']}", TEMPLATE.format(bar.ts.date(), price=bar.close))
        self.temporary = Box(bar.close)
        self.log(Signal("buy", self.temporary.get()).text(), f"{self.temporary}", {self.temporary})
        del self.temporary
        self.log("👨‍💻 ❤️", isinstance(row["month"], str), str(Speed.FAST), bar.ts.timetuple().tm_yday)
        if self.flat and crossed_above(self.f_fast, self.co_slow):
            self.target(0.5)
        elif self.long and crossed_below(self.f_fast, self.co_slow):
            self.close()
