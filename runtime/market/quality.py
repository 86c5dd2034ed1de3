"""What must be right, and what looks wrong, in a set of bars before anything trades on it.

Errors mean that the bars are not bars: they are refused, never repaired. Warnings are what real data sometimes have
and bad data often have; a person decides. The checks are listed once, in ``ERROR_CHECKS`` and ``WARNING_CHECKS``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from runtime.market.bars import PRICE_COLUMNS
from runtime.market.calendar import DAY_S, HOUR_S, stamp_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from runtime.market.bars import Bars

    Mask = NDArray[np.bool_]

# In real daily data 0.2 % to 6 % of the bars open exactly at the previous close; in an index whose open is made up,
# 40 %. A fill at a made-up open is a fill at yesterday's close.
_STALE_SHARE = 0.2
# Below this count a share says nothing.
_STALE_MINIMUM = 50
# Share counts that companies split and merge by. A price that opens this near to one of these ratios is suspicious.
_SPLIT_RATIOS = (1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 15.0, 20.0, 25.0, 50.0, 100.0)
_SPLIT_TOLERANCE = 0.04
# A market that holds this share of its possible bars trades around the clock: every missing bar there is a gap.
_CONTINUOUS_SHARE = 0.97
# Elsewhere nights, weekends and holidays are normal; five days cover the longest regular holidays.
_LONG_CLOSURE_S = 5 * DAY_S
# How many places a message names before it only counts.
_NAMED_PLACES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityIssue:
    """One rule that the bars break, and where."""

    rule: str
    """Stable id, like ``high-low``."""
    places: tuple[int, ...]
    """Rows (from 0), or places in the file that the bars came from (in CSV the header is line 1); in order, all of them."""
    message: str
    """One sentence: the first places, the value there, the rule."""

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport:
    """All issues of one instrument's bars, each rule at most once."""

    errors: tuple[QualityIssue, ...]
    """The bars must not be used."""
    warnings: tuple[QualityIssue, ...]
    """The bars may be used; a person should know."""

    @property
    def usable(self) -> bool:
        """Whether there is no error."""
        return not self.errors


class Gap(NamedTuple):
    """A stretch without bars."""

    row: int
    """The first bar after it, counted from 0."""
    after: int
    """Open of the bar before the gap, seconds since 1970 UTC."""
    before: int
    """Open of the bar after it."""


class _Suspects(NamedTuple):
    """What a check returns: the suspicious rows and what to say about the first of them."""

    rule: str
    rows: NDArray[np.intp]
    text: str


def check_quality(bars: Bars, *, places: Sequence[int] | None = None, unit: str = "row") -> QualityReport:
    """Judge the content of bars.

    Args:
        bars: What to judge.
        places: Where in its file each bar came from, to be named in messages; by default rows are named, from 0.
        unit: What ``places`` count, in the singular.
    """
    found = range(len(bars)) if places is None else places
    return QualityReport(
        errors=tuple(_issues(bars, ERROR_CHECKS, found, unit)),
        warnings=tuple(_issues(bars, WARNING_CHECKS, found, unit)),
    )


def _issues(
    bars: Bars, checks: Sequence[Callable[[Bars], _Suspects]], found: Sequence[int], unit: str
) -> Iterator[QualityIssue]:
    for check in checks:
        suspects = check(bars)
        if not len(suspects.rows):
            continue
        places = tuple(found[row] for row in suspects.rows.tolist())
        named = ", ".join(map(str, places[:_NAMED_PLACES]))
        more = f" and {len(places) - _NAMED_PLACES} more" if len(places) > _NAMED_PLACES else ""
        word = unit + ("s" if len(places) > 1 else "")
        yield QualityIssue(rule=suspects.rule, places=places, message=f"{word} {named}{more}: {suspects.text}")


def _first(bars: Bars, name: str, row: int) -> str:
    return f"{name} is {getattr(bars, name)[row]:g}"


def _not_finite(bars: Bars) -> _Suspects:
    wrong = {name: ~np.isfinite(getattr(bars, name)) for name in PRICE_COLUMNS}
    rows = np.flatnonzero(np.logical_or.reduce(list(wrong.values())))
    text = ""
    if len(rows):
        name = next(name for name in PRICE_COLUMNS if wrong[name][rows[0]])
        text = f"{_first(bars, name, rows[0])}, and every price and volume must be a finite number"
    return _Suspects("not-finite", rows, text)


def _not_positive(bars: Bars) -> _Suspects:
    wrong = {name: getattr(bars, name) <= 0 for name in PRICE_COLUMNS if name != "volume"}
    rows = np.flatnonzero(np.logical_or.reduce(list(wrong.values())))
    text = ""
    if len(rows):
        name = next(name for name in wrong if wrong[name][rows[0]])
        text = f"{_first(bars, name, rows[0])}, and prices must be above 0"
    return _Suspects("not-positive", rows, text)


def _high_low(bars: Bars) -> _Suspects:
    top, bottom = np.maximum(bars.open, bars.close), np.minimum(bars.open, bars.close)
    rows = np.flatnonzero((bars.high < top) | (bars.low > bottom))
    text = ""
    if len(rows):
        values = ", ".join(_first(bars, name, rows[0]) for name in ("open", "high", "low", "close"))
        text = f"{values}, and open and close must lie between low and high"
    return _Suspects("high-low", rows, text)


def _negative_volume(bars: Bars) -> _Suspects:
    rows = np.flatnonzero(bars.volume < 0)
    text = f"{_first(bars, 'volume', rows[0])}, and volume must not be negative" if len(rows) else ""
    return _Suspects("negative-volume", rows, text)


def _unsorted(bars: Bars) -> _Suspects:
    rows = np.flatnonzero(np.diff(bars.ts) < 0) + 1
    text = ""
    if len(rows):
        now, before = (stamp_text(int(bars.ts[row])) for row in (rows[0], rows[0] - 1))
        text = f"{now} comes after {before}, and bars must be in time order, oldest first"
    return _Suspects("unsorted", rows, text)


def _duplicate(bars: Bars) -> _Suspects:
    """Equal stamps anywhere; for daily bars two on one date, unless daylight saving explains them (23 hours apart)."""
    order = np.argsort(bars.ts, kind="stable")
    stamps = bars.ts[order]
    again = stamps[1:] == stamps[:-1]
    if bars.timeframe.seconds == DAY_S:
        same_date = stamps[1:] // DAY_S == stamps[:-1] // DAY_S
        again = again | (same_date & (np.diff(stamps) < DAY_S - HOUR_S))
    rows = np.sort(order[1:][again])
    text = ""
    if len(rows):
        what = "date" if bars.timeframe.seconds == DAY_S else "stamp"
        text = f"{stamp_text(int(bars.ts[rows[0]]))} is there twice, and there is one bar per {what}"
    return _Suspects("duplicate", rows, text)


def _off_grid(bars: Bars) -> _Suspects:
    """Stamps that do not fit the timeframe; what is out of order or doubled is left to the checks above."""
    step = bars.timeframe.seconds
    gaps = np.diff(bars.ts)
    wrong = np.zeros(len(bars), dtype=np.bool_)
    if step > DAY_S:
        # A week that begins after a holiday is shorter, so half a step is the limit.
        wrong[1:] = (gaps > 0) & (gaps < step / 2)
    elif step < DAY_S and len(bars):
        # Daylight saving moves the grid of steps that do not divide an hour; what is left of it is this unit.
        unit = gcd(step, HOUR_S)
        phases, counts = np.unique(bars.ts % unit, return_counts=True)
        wrong = bars.ts % unit != phases[counts.argmax()]
        if unit < step:
            overlap = (gaps > 0) & (gaps < step - (HOUR_S if step > HOUR_S else 0)) & ~wrong[1:] & ~wrong[:-1]
            wrong[1:] |= overlap
    rows = np.flatnonzero(wrong)
    text = ""
    if len(rows):
        text = (
            f"{stamp_text(int(bars.ts[rows[0]]))} does not fit the grid of {bars.timeframe} bars that the others follow"
        )
    return _Suspects("off-grid", rows, text)


def _stale_open(bars: Bars) -> _Suspects:
    rows = np.flatnonzero(bars.open[1:] == bars.close[:-1]) + 1
    share = len(rows) / max(len(bars) - 1, 1)
    if len(bars) < _STALE_MINIMUM or share <= _STALE_SHARE:
        rows = rows[:0]
    return _Suspects(
        "stale-open",
        rows,
        f"the open equals the previous close on {share:.1%} of the bars, so the open may be made up and fills there unreal",
    )


def _zero_volume(bars: Bars) -> _Suspects:
    zero = bars.volume == 0
    rows = np.flatnonzero(zero)
    text = f"volume is 0 in a run of up to {_longest_run(zero)} bars; orders fill there as if somebody had traded"
    return _Suspects("zero-volume", rows, text)


def _longest_run(mask: Mask) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _split_like(bars: Bars) -> _Suspects:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = bars.close[:-1] / bars.open[1:]
        factor = np.maximum(ratio, 1 / ratio)
    near = np.zeros(len(factor), dtype=np.bool_)
    for split in _SPLIT_RATIOS:
        near |= np.abs(factor / split - 1) <= _SPLIT_TOLERANCE
    rows = np.flatnonzero(near) + 1
    text = ""
    if len(rows):
        row = rows[0]
        text = (
            f"the price opens at {bars.open[row]:g} after a close of {bars.close[row - 1]:g}, which looks like a split; "
            f"use split-adjusted data"
        )
    return _Suspects("split-like", rows, text)


def _gap(bars: Bars) -> _Suspects:
    found = gaps(bars)
    rows = np.array([gap.row for gap in found], dtype=np.intp)
    text = ""
    if found:
        text = f"no bars between {stamp_text(found[0].after)} and {stamp_text(found[0].before)}; nothing is filled in"
    return _Suspects("gap", rows, text)


def gaps(bars: Bars) -> tuple[Gap, ...]:
    """Where bars are missing, oldest first.

    In a market around the clock every missing bar is a gap; elsewhere only what is longer than the longest regular
    holidays, since nights and weekends are not told from a lost day.
    """
    steps = np.diff(bars.ts)
    step = bars.timeframe.seconds
    span = int(bars.ts[-1] - bars.ts[0]) if len(bars) else 0
    continuous = span > 0 and (len(bars) - 1) * step >= _CONTINUOUS_SHARE * span
    limit = step + HOUR_S if continuous and step > HOUR_S else step if continuous else max(_LONG_CLOSURE_S, 2 * step)
    rows = (np.flatnonzero(steps > limit) + 1).tolist()
    return tuple(Gap(row=row, after=int(bars.ts[row - 1]), before=int(bars.ts[row])) for row in rows)


def _moved_open(bars: Bars) -> _Suspects:
    """Daily bars whose time of day is not the usual one; daylight saving moves it by an hour."""
    rows = np.empty(0, dtype=np.intp)
    usual = 0
    if bars.timeframe.seconds % DAY_S == 0 and len(bars):
        times, counts = np.unique(bars.ts % DAY_S, return_counts=True)
        usual = int(times[counts.argmax()])
        away = np.abs(bars.ts % DAY_S - usual)
        rows = np.flatnonzero(np.minimum(away, DAY_S - away) > HOUR_S)
    text = ""
    if len(rows):
        text = (
            f"the stamp is {stamp_text(int(bars.ts[rows[0]]))} and most bars open at {usual // HOUR_S:02}:{usual % HOUR_S // 60:02} "
            f"UTC; daylight saving explains one hour, so check the time zone"
        )
    return _Suspects("moved-open", rows, text)


ERROR_CHECKS: tuple[Callable[[Bars], _Suspects], ...] = (
    _not_finite,
    _not_positive,
    _high_low,
    _negative_volume,
    _unsorted,
    _duplicate,
    _off_grid,
)
WARNING_CHECKS: tuple[Callable[[Bars], _Suspects], ...] = (_stale_open, _zero_volume, _split_like, _gap, _moved_open)
