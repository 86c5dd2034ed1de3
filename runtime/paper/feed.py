"""Bars as they come: what a feed promises, and what becomes of bars that come twice, late, changed or not at all.

========================  ====================================================================================
a bar that                what happens
========================  ====================================================================================
is not closed yet         is left where it is until ``open + step <= now``; a clock set back only makes it wait
came before, the same     nothing (a *duplicate*)
came before, changed      the bar that was traded on stands; the change is written down once (*revised*)
comes after a later one   is not traded on, since the later one was; it is written down (*late*)
never comes               no bar is made up, as in a backtest; the gap is written down (*missing*)
were missed while away    they are taken in order, each with its own decision, before any newer one
is no bar (high < low)    stops the run: a feed that sends this is wrong, and asking again will not mend it
begins before the one     stops the run, likewise: it is of another market or timeframe
before it ended
opens far off the close   stops the run (live, ``most_gap``): a split, another unit or another market; a person looks
and all others before     stops the run: the feed tells another past, so it is not the market that was traded
it are changed, too
========================  ====================================================================================

An outage is a value: ``Outage``, which passes or does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from runtime.market.calendar import DAY_S
from runtime.market.sessions import AROUND_THE_CLOCK
from runtime.paper.canon import encode, sha256

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from runtime.market.bars import Bars
    from runtime.market.sessions import Calendar
    from runtime.model import Bar, Timeframe


class Outage(NamedTuple):
    """A feed gave nothing."""

    reason: str
    """One clause."""
    passes: bool
    """Asking again can help; False when the feed or the question is wrong for good."""
    wait_s: float | None = None
    """Seconds that the feed asks to be left alone; None when it does not say."""


class BarFeed(Protocol):
    """Where a run's bars come from. One per run; used by one thread."""

    def bars(self, after: int, now: datetime) -> Sequence[Bar] | Outage:
        """What the feed has from a little before ``after`` on, in any order, closed or not.

        Args:
            after: open of the newest bar that the run has, seconds since 1970 UTC.
            now: the run's clock.
        """

    def clock(self, now: datetime) -> datetime:
        """The moment that decides which bars are closed: never later than ``now``, nor than the feed's own clock."""

    @property
    def is_over(self) -> bool:
        """Whether no further bar will ever come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """When bars close."""

    timeframe: Timeframe
    calendar: Calendar = AROUND_THE_CLOCK

    def end(self, ts: int) -> int:
        """The moment from which the bar that opens at ``ts`` is usable; seconds since 1970 UTC, as all here."""
        return ts + self.timeframe.seconds if self._is_dated(ts) else self.calendar.bar_end(ts, self.timeframe)

    def next_open(self, ts: int) -> int:
        """The open of the bar that is to be expected after the one at ``ts``: the next one that the market is open for.

        Holidays are not known, so nothing may come then.
        """
        following = self.end(ts)
        if self.timeframe.seconds >= DAY_S:
            while self.timeframe.seconds == DAY_S and not self.calendar.trades_on(self._day(following)):
                following = self.end(following)
            return following
        day = self._day(following)
        if self.calendar.trades_on(day) and self.calendar.opening(day) <= following < self.calendar.closing(day):
            return following
        return next(
            opening
            for later in range(day, day + 9)
            if self.calendar.trades_on(later) and (opening := self.calendar.opening(later)) >= following
        )

    def is_open(self, ts: int) -> bool:
        """Whether regular trading is on at a moment; daily and longer bars do not tell, so their markets always are."""
        if self.timeframe.seconds >= DAY_S:
            return True
        day = self._day(ts)
        return self.calendar.trades_on(day) and self.calendar.opening(day) <= ts < self.calendar.closing(day)

    def day_start(self, ts: int) -> int:
        """Where the trading day of a moment began."""
        return ts - ts % DAY_S if self._is_dated(ts) else self.calendar.day_start(self._day(ts))

    def _day(self, ts: int) -> int:
        if self._is_dated(ts):
            return ts // DAY_S
        return int(self.calendar.session_days(np.array([ts], dtype=np.int64))[0])

    def _is_dated(self, ts: int) -> bool:
        """Daily bars stamped at midnight UTC carry their date, whatever the zone of their market."""
        return self.timeframe.seconds >= DAY_S and ts % DAY_S == 0


class Note(NamedTuple):
    """Something odd about a feed's bars, for the audit log."""

    what: str
    """``revised``, ``late`` or ``missing``."""
    ts: int
    """Open of the bar that it is about; of the first missing one."""
    detail: str


class Sifted(NamedTuple):
    """What is to be done with a feed's answer."""

    bars: tuple[Bar, ...]
    """New closed bars, oldest first."""
    notes: tuple[Note, ...]
    fault: str | None
    """Why the feed cannot be traded on; None when it can."""


def bar_sha256(bar: Bar) -> str:
    """Identity of a bar's content."""
    return sha256(encode([int(bar.ts.timestamp()), *bar[1:]]))


# So many known bars, all of them changed, are no corrections any more.
_ANOTHER_PAST = 3


def sift(  # noqa: PLR0913 - an answer, and all that it is held against
    answer: Sequence[Bar],
    known: Mapping[int, str],
    last: int,
    clock: datetime,
    market: Market,
    *,
    close: float | None = None,
    most_gap: float | None = None,
) -> Sifted:
    """Sort a feed's answer into what is new and what is odd.

    Args:
        answer: as the feed gave it.
        known: hash of each bar that the run has had lately, by open.
        last: open of the newest of them.
        clock: ``BarFeed.clock``.
        market: when bars close.
        close: of the newest bar that the run has.
        most_gap: largest ratio, either way, of an open to the close before it that is believed; None believes all.
    """
    now = clock.timestamp()
    notes: list[Note] = []
    fresh: dict[int, Bar] = {}
    for bar in sorted(answer, key=lambda each: each.ts):
        ts = int(bar.ts.timestamp())
        if market.end(ts) > now:
            continue
        fault = bar_fault(bar)
        if fault is not None:
            return Sifted((), tuple(notes), f"the bar of {bar.ts:%Y-%m-%dT%H:%MZ} is none: {fault}")
        if ts > last:
            if ts in fresh and fresh[ts] != bar:
                return Sifted((), tuple(notes), f"the feed gives two bars for {bar.ts:%Y-%m-%dT%H:%MZ}")
            fresh[ts] = bar
        elif ts in known and known[ts] != bar_sha256(bar):
            notes.append(Note("revised", ts, f"was {known[ts][:12]}, is {bar_sha256(bar)[:12]}"))
        elif ts not in known and known and ts > min(known):
            notes.append(Note("late", ts, bar_sha256(bar)[:12]))
    fault = _another_past(answer, known, notes) or _misplaced(fresh, last, close, market, most_gap)
    if fault is not None:
        return Sifted((), tuple(notes), fault)
    previous = last
    for ts in fresh:
        expected = market.next_open(previous)
        if ts > expected:
            notes.append(Note("missing", expected, f"the next one opens {ts - expected} s later"))
        previous = ts
    return Sifted(tuple(fresh.values()), tuple(notes), None)


def _another_past(answer: Sequence[Bar], known: Mapping[int, str], notes: Sequence[Note]) -> str | None:
    """Why the feed is not the one that was traded on: all that it told before, it tells otherwise."""
    told = sum(int(bar.ts.timestamp()) in known for bar in answer)
    revised = sum(note.what == "revised" for note in notes)
    if told >= _ANOTHER_PAST and revised == told:
        return f"all {told} bars that were traded on before are other ones now: this is not the market that it was"
    return None


def _misplaced(
    fresh: Mapping[int, Bar], last: int, close: float | None, market: Market, most_gap: float | None
) -> str | None:
    """Why new bars cannot follow the ones before them, in time or in price."""
    previous = last
    for ts, bar in fresh.items():
        told = f"the bar of {bar.ts:%Y-%m-%dT%H:%M:%SZ}"
        if ts < market.end(previous):
            return f"{told} begins before the one before it ended"
        if close is not None and most_gap is not None and not 1.0 / most_gap <= bar.open / close <= most_gap:
            return (
                f"{told} opens at {bar.open!r} after a close of {close!r}, which is more than {most_gap:g} times off: a split, "
                f"or another market; look before the run goes on"
            )
        previous, close = ts, bar.close
    return None


def bar_fault(bar: Bar) -> str | None:
    """Why something is no bar; None when it is one."""
    if not all(map(math.isfinite, bar[1:])):
        return "a price or volume is no finite number"
    if min(bar.open, bar.high, bar.low, bar.close) <= 0.0 or bar.volume < 0.0:
        return "a price is not above 0, or the volume below it"
    if bar.high < max(bar.open, bar.close) or bar.low > min(bar.open, bar.close):
        return f"high {bar.high!r} and low {bar.low!r} do not enclose open {bar.open!r} and close {bar.close!r}"
    return None


class ReplayFeed:
    """History as a feed: each bar appears when the run's clock reaches its end. Implements ``BarFeed``."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._rows = bars.rows()
        self._is_over = not len(bars)

    def bars(self, after: int, now: datetime) -> Sequence[Bar] | Outage:
        """Everything after ``after``: what is not closed is left by whoever asks."""
        del now
        start = int(np.searchsorted(self._bars.ts, after, side="right"))
        self._is_over = start == len(self._rows)
        return self._rows[start : start + _AT_ONCE]

    def clock(self, now: datetime) -> datetime:
        """History has no clock of its own."""
        return now

    @property
    def is_over(self) -> bool:
        """Whether the run has the newest bar."""
        return self._is_over


# Bars that a replay hands over at a time; more would only be sorted out again and again.
_AT_ONCE = 64
