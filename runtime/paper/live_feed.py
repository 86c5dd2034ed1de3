"""A live feed: the klines and JSON feeds that sets are fetched from, asked for what is new. Implements ``BarFeed``.

A bar counts as closed when our clock and the ``date`` of the reply have both reached its end, so neither a clock of ours that runs
ahead nor one that was set can make an unfinished bar trade. A ``date`` of the past only makes bars wait; one of the future does nothing.

=============================================  =============================================================
an answer that                                 what happens
=============================================  =============================================================
is 429, 418, 408 or 5xx; none at all; a reset; the pause of a fault, at least as long as the feed asks for
cut, too large, no JSON, a web page
holds rows that are no bars, twice or in       stops the run: the feed is wrong, and asking again will not
disorder; is 4xx or a redirect                 mend it
lacks the bar that is due                      is asked for again, after a share of the bar's step
=============================================  =============================================================

What becomes of whole bars that are odd is said in ``runtime.paper.feed``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from runtime.market.errors import DataError
from runtime.market.feeds.exchange import Caller
from runtime.market.feeds.outcome import Stop, Stopped
from runtime.market.feeds.paging import Want
from runtime.market.feeds.timing import header_date
from runtime.model import Bar
from runtime.paper.feed import Outage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.market.feeds.exchange import Reply, Transport
    from runtime.market.feeds.fetch import Feed
    from runtime.market.feeds.paging import Page
    from runtime.market.feeds.timing import Timing
    from runtime.model import Timeframe

# Bars that are asked for again each time: enough to see that one was revised, or came late.
_OVERLAP = 5
_PASSING = frozenset({Stop.UNREACHABLE, Stop.LIMITED, Stop.DEADLINE, Stop.UNREADABLE})


class LiveFeed:
    """One symbol of a feed.

    Args:
        feed: dialect and limits.
        transport: the wire, open.
        symbol: as the feed calls it.
        timeframe: step of its bars.
        timing: the world's time.
    """

    def __init__(self, feed: Feed, transport: Transport, symbol: str, timeframe: Timeframe, timing: Timing) -> None:
        self._feed = feed
        self._transport = transport
        self._symbol = symbol
        self._timeframe = timeframe
        self._timing = timing
        self._served: datetime | None = None

    def bars(self, after: int, now: datetime) -> Sequence[Bar] | Outage:
        """The page of bars around ``after`` and what follows it."""
        step = self._timeframe.seconds
        want = Want(
            symbol=self._symbol,
            timeframe=self._timeframe,
            start=after - _OVERLAP * step,
            stop=int(now.timestamp()) + step,
        )
        caller = Caller(self._transport, self._timing, self._feed.limits)
        dialect = self._feed.dialect
        try:
            request = dialect.request(want, dialect.paging.place(want, dialect.paging.first(want)))
            page = caller.call(request, lambda reply: self._read(want, reply))
        except DataError as error:
            return Outage(str(error), passes=False)
        if isinstance(page, Stopped):
            return Outage(page.reason, passes=page.stop in _PASSING, wait_s=page.wait_s)
        return [
            Bar(datetime.fromtimestamp(ts, UTC), *values)
            for ts, values in zip(page.ts.tolist(), page.columns.T.tolist(), strict=True)
        ]

    def clock(self, now: datetime) -> datetime:
        """Ours or that of the last reply, whichever is behind."""
        return now if self._served is None else min(now, self._served)

    @property
    def is_over(self) -> bool:
        """Never."""
        return False

    def _read(self, want: Want, reply: Reply) -> Page:
        self._served = header_date(reply.headers.get("date"))
        return self._feed.dialect.read(want, reply.body)
