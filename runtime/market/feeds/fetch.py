"""The fetch loop: page after page of closed bars, each compared with what is there and stored before the next is asked for.

Nothing is repaired. A page out of order, a bar that is no bar, or history that reads differently the second time ends
the fetch with a ``DataError`` that names the bar; what was stored before stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from runtime.market.bars import PRICE_COLUMNS, Bars
from runtime.market.calendar import DAY_S, stamp_text
from runtime.market.errors import DataError
from runtime.market.feeds.exchange import Limits
from runtime.market.feeds.outcome import Stopped
from runtime.market.feeds.spool import Progress, StoredPage
from runtime.market.feeds.timing import header_date
from runtime.market.quality import check_quality
from runtime.market.sessions import AROUND_THE_CLOCK, bars_per_year
from runtime.model import Instrument

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from runtime.market.feeds.dialect import Dialect
    from runtime.market.feeds.exchange import Caller, Reply
    from runtime.market.feeds.paging import Page, Want
    from runtime.market.feeds.spool import Spool
    from runtime.market.sessions import Calendar

OVERLAP_BARS = 100
"""Bars that are asked for again when a download goes on or a set is brought up to date: enough to see a split-adjusted
or otherwise rewritten past, and still one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One source of bars over HTTP, without the wire to it."""

    name: str
    dialect: Dialect
    calendar: Calendar | None = None
    """The market's calendar; None takes days in UTC and infers bars per year."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """All closed bars that a feed has of what was asked for."""

    bars: Bars
    requests: int
    """Sent for this symbol in this run, failed ones included."""
    resumed_bars: int
    """Bars that an earlier run had stored."""
    not_closed: int
    """Bars that were left out because they were still forming."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How far a fetch is, for people who watch."""

    symbol: str
    bars: int
    last: int
    """Open of the newest bar so far, seconds since 1970 UTC."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Received:
    """A page with the moment that decides which of its bars are closed."""

    page: Page
    as_of: int
    """Seconds since 1970 UTC."""


def fetch(want: Want, feed: Feed, spool: Spool, caller: Caller, watch: Callable[[Step], object]) -> Fetched | Stopped:
    """Fetch what is missing of ``want``, from where the spool ends.

    A bar counts as closed when both our clock and the ``date`` of the reply have reached its end.

    Args:
        want: What to fetch.
        feed: From where.
        spool: What an earlier run has stored of the same; every new page is stored in it.
        caller: Sends the requests, and knows the time.
        watch: Told after each page.

    Raises:
        DataError: the feed's data cannot be used, or contradict what is stored.
    """
    try:
        return _Download(want, feed, spool).run(caller, watch)
    except DataError as error:
        raise DataError(f"feed {feed.name}, {want.symbol}: {error}") from None


class _Download:
    """The bars of one symbol, growing page by page."""

    def __init__(self, want: Want, feed: Feed, spool: Spool) -> None:
        self._want = want
        self._feed = feed
        self._spool = spool
        self._stored = spool.read()
        self._pages = [page for page in self._stored if len(page.ts)]
        self._not_closed = 0

    def run(self, caller: Caller, watch: Callable[[Step], object]) -> Fetched | Stopped:
        dialect, want = self._feed.dialect, self._want
        progress, resumed, sent_before = self._resume(), self._count(), caller.requests

        def read(reply: Reply) -> _Received:
            served = header_date(reply.headers.get("date"))
            moment = min(caller.now(), served) if served is not None else caller.now()
            return _Received(page=dialect.read(want, reply.body), as_of=int(moment.timestamp()))

        while progress.cursor is not None:
            request = dialect.request(want, dialect.paging.place(want, progress.cursor))
            received = caller.call(request, read)
            if isinstance(received, Stopped):
                return received
            progress = self._take(received, progress)
            watch(Step(symbol=want.symbol, bars=self._count(), last=self._last() or want.start))
        return Fetched(
            bars=self._bars(), requests=caller.requests - sent_before, resumed_bars=resumed, not_closed=self._not_closed
        )

    def _resume(self) -> Progress:
        """Where to go on: a little before the end of what is stored, where the protocol can."""
        paging = self._feed.dialect.paging
        if not self._stored:
            return Progress(cursor=paging.first(self._want), newest=None)
        progress = self._stored[-1].progress
        if not self._pages:
            return progress
        stamps = np.concatenate([page.ts for page in self._pages[-OVERLAP_BARS:]])
        again = paging.at(int(stamps[-OVERLAP_BARS:][0]))
        return progress if again is None else replace(progress, cursor=again)

    def _take(self, received: _Received, progress: Progress) -> Progress:
        """Keep what a page brings, on disk first."""
        page, want = received.page, self._want
        paging = self._feed.dialect.paging
        inside = (page.ts >= want.start) & (page.ts < want.stop)
        closed = self._closed(page.ts, received.as_of)
        self._not_closed = int((inside & ~closed).sum())
        keep = inside & closed
        cursor = paging.after(want, progress.cursor or "", page, progress.newest)
        newest = max(
            (*page.ts[-1:].tolist(), *((progress.newest,) if progress.newest is not None else ())), default=None
        )
        fresh = self._fresh(page.ts[keep], page.columns[:, keep], Progress(cursor=cursor, newest=newest))
        self._spool.append(fresh)
        if len(fresh.ts):
            self._pages.append(fresh)
        return fresh.progress

    def _closed(self, ts: NDArray[np.int64], as_of: int) -> NDArray[np.bool_]:
        timeframe, calendar = self._want.timeframe, self._feed.calendar or AROUND_THE_CLOCK
        if timeframe.seconds % DAY_S:
            return ts + timeframe.seconds <= as_of
        return np.array([calendar.bar_end(stamp, timeframe) <= as_of for stamp in ts.tolist()], dtype=np.bool_)

    def _fresh(self, ts: NDArray[np.int64], columns: NDArray[np.float64], progress: Progress) -> StoredPage:
        """The rows after what is stored; the others must be what is stored.

        Raises:
            DataError: they are not, or the rows are no bars.
        """
        last = self._last()
        known = 0 if last is None else int(np.searchsorted(ts, last, side="right"))
        if known:
            self._compare(ts[:known], columns[:, :known])
        fresh = StoredPage(ts=ts[known:], columns=columns[:, known:], progress=progress)
        if len(fresh.ts):
            report = check_quality(_bars(self._want, fresh.ts, fresh.columns))
            if report.errors:
                raise DataError(f"a page of bars from {stamp_text(int(fresh.ts[0]))} on, {report.errors[0]}")
        return fresh

    def _compare(self, ts: NDArray[np.int64], columns: NDArray[np.float64]) -> None:
        """Hold rows against the stored ones of the same stretch of time."""
        pages: list[StoredPage] = []
        for page in reversed(self._pages):
            pages.insert(0, page)
            if page.ts[0] <= ts[0]:
                break
        old_ts = np.concatenate([page.ts for page in pages])
        old_columns = np.concatenate([page.columns for page in pages], axis=1)
        shared = (old_ts >= ts[0]) & (old_ts <= ts[-1])
        compare_history(old_ts[shared], old_columns[:, shared], ts, columns)

    def _bars(self) -> Bars:
        if self._count() < 2:
            raise DataError(
                f"there are {self._count()} closed bars of {self._want.timeframe} from {stamp_text(self._want.start)} to "
                f"{stamp_text(self._want.stop)}; ask for a longer time, or check the symbol"
            )
        ts = np.concatenate([page.ts for page in self._pages])
        return _bars(self._want, ts, np.concatenate([page.columns for page in self._pages], axis=1))

    def _count(self) -> int:
        return sum(len(page.ts) for page in self._pages)

    def _last(self) -> int | None:
        return int(self._pages[-1].ts[-1]) if self._pages else None


def compare_history(
    old_ts: NDArray[np.int64],
    old_columns: NDArray[np.float64],
    new_ts: NDArray[np.int64],
    new_columns: NDArray[np.float64],
) -> None:
    """Require that two readings of the same stretch of time are equal.

    Raises:
        DataError: they are not; names the first bar that differs.
    """
    if np.array_equal(old_ts, new_ts) and np.array_equal(old_columns, new_columns):
        return
    shared = min(len(old_ts), len(new_ts))
    moved = np.flatnonzero(old_ts[:shared] != new_ts[:shared])
    row = int(moved[0]) if len(moved) else shared
    values = np.argwhere((old_columns[:, :row] != new_columns[:, :row]).T)
    if len(values):
        place, column = values[0].tolist()
        what = f"{PRICE_COLUMNS[column]} was {old_columns[column, place]:.12g} and is now {new_columns[column, place]:.12g}"
        stamp = int(old_ts[place])
    else:
        is_gone = row < len(old_ts) and (row >= len(new_ts) or old_ts[row] < new_ts[row])
        stamp = int(old_ts[row] if is_gone else new_ts[row])
        what = "it was there and is gone" if is_gone else "it was not there before"
    raise DataError(
        f"the bar of {stamp_text(stamp)} has changed ({what}), and fetched history must not; fetch all of it again under "
        f"another name, or with --restart while it is not registered"
    )


def _bars(want: Want, ts: NDArray[np.int64], columns: NDArray[np.float64]) -> Bars:
    years = bars_per_year(ts, want.timeframe) if len(ts) > 1 else 1.0
    named = dict(zip(PRICE_COLUMNS, columns, strict=True))
    return Bars(
        instrument=Instrument(symbol=want.symbol, bars_per_year=years), timeframe=want.timeframe, ts=ts, **named
    )
