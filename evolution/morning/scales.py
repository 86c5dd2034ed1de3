"""From values to pixels, and where an axis should have its ticks. Pure arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

# A logarithmic axis pays when the largest value is a few times the smallest; below it, even steps read better.
_FAR_APART = 4.0
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Tick(NamedTuple):
    """A place on an axis and its words."""

    value: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A range of values on a range of pixels, linear or logarithmic."""

    low: float
    high: float
    begin: float
    """Pixel of ``low``."""
    end: float
    """Pixel of ``high``; smaller than ``begin`` on an axis that grows upwards."""
    is_logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        low, high, at = self.low, self.high, value
        if self.is_logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(max(value, self.low))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.begin + share * (self.end - self.begin)


def even_ticks(low: float, high: float, most: int) -> tuple[Tick, ...]:
    """Round values at even steps of 1, 2, 2.5 or 5 that lie within a range, at most so many.

    >>> [tick.label for tick in even_ticks(0.0, 23.0, 6)]
    ['0', '5', '10', '15', '20']
    """
    # A range of rounding errors has no ticks of its own.
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return (Tick(low, f"{low:g}"),)
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((each * power for each in _STEPS if each * power >= rough * (1 - 1e-9)), 10.0 * power)
    digits = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if step / power == 2.5 else 0))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(Tick(number * step, _label(number * step, digits)) for number in range(first, last + 1))


def growth_ticks(low: float, high: float, most: int) -> tuple[Tick, ...]:
    """Ticks for a growth of 1: even ones, or 1, 1.5, 2, 3, 5, 7, 10 ... where the range is wide.

    >>> [tick.label for tick in growth_ticks(0.6, 3.2, 6)]
    ['0.7', '1', '1.5', '2', '3']
    """
    if not is_wide(low, high):
        return even_ticks(low, high, most)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for bases in ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,)):
        inside = [each for power in powers for base in bases if low <= (each := base * 10.0**power) <= high]
        if len(inside) <= most:
            break
    every = math.ceil(len(inside) / most)
    return tuple(Tick(each, f"{each:g}") for each in inside[::every])


def is_wide(low: float, high: float) -> bool:
    """Whether a logarithmic axis shows more."""
    return low > 0 and high / low >= _FAR_APART


def time_ticks(begin: int, end: int, most: int) -> tuple[Tick, ...]:
    """The first of years, months or days in a span of seconds since 1970, at most so many."""
    first, last = datetime.fromtimestamp(begin, UTC), datetime.fromtimestamp(end, UTC)
    months = [
        datetime(year, month, 1, tzinfo=UTC)
        for year in range(first.year, last.year + 1)
        for month in range(1, 13)
        if first <= datetime(year, month, 1, tzinfo=UTC) <= last
    ]
    for every, form in (
        (1, "%b %Y"),
        (3, "%b %Y"),
        (6, "%b %Y"),
        *((12 * years, "%Y") for years in (1, 2, 5, 10, 20, 50)),
    ):
        chosen = [each for each in months if (each.year * 12 + each.month - 1) % every == 0]
        # A month with its year is twice as wide as a year.
        if 2 <= len(chosen) <= (most if form == "%Y" else most * 3 // 4):
            return tuple(Tick(each.timestamp(), each.strftime(form)) for each in chosen)
    # A few weeks or hours at most: both ends say it.
    form = "%d %b %Y" if end - begin >= 2 * 86_400 else "%d %b %H:%M"
    return Tick(begin, first.strftime(form)), Tick(end, last.strftime(form))


def _label(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text
