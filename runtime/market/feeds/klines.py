"""The klines protocol that Binance made common: ``GET /api/v3/klines``, one array of twelve fields per bar.

    [open time ms, open, high, low, close, volume, close time ms, quote volume, trades, taker base, taker quote, unused]

Prices are decimal text. The newest bar of a reply may still be forming; the fetch loop drops it. The close time is
one millisecond before the next bar, which tells a feed that answers with another timeframe than was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runtime.market.calendar import stamp_text
from runtime.market.errors import DataError, quoted
from runtime.market.feeds.dialect import page_of
from runtime.market.feeds.exchange import PageRequest, read_json
from runtime.market.feeds.paging import TimePaging

if TYPE_CHECKING:
    from runtime.market.feeds.paging import Page, Place, Want

INTERVALS = ("1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w")
MAX_PAGE_BARS = 1_000
_FIELDS = 12
_CLOSE_TIME = 6
_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Klines:
    """A ``Dialect``."""

    path: str = "/api/v3/klines"
    page_bars: int = MAX_PAGE_BARS
    """Bars to ask for at once; at least 2, since each page repeats the last bar of the one before."""
    paging: TimePaging = field(default_factory=TimePaging)

    @property
    def identity(self) -> str:
        """The protocol and its path."""
        return f"klines {self.path}"

    def request(self, want: Want, place: Place) -> PageRequest:
        """The request for a page; ``endTime`` is inclusive there."""
        interval = str(want.timeframe)
        if interval not in INTERVALS:
            raise DataError(
                f"timeframe {interval}: a klines feed has {', '.join(INTERVALS)}; fetch a shorter one and add --resample {interval}"
            )
        query = {
            "symbol": want.symbol,
            "interval": interval,
            "startTime": str(place.start * _MS),
            "endTime": str(place.stop * _MS - 1),
            "limit": str(self.page_bars),
        }
        return PageRequest(self.path, tuple(query.items()))

    def read(self, want: Want, body: bytes) -> Page:
        """The bars of a reply, each row's form and times checked."""
        document = read_json(body)
        if not isinstance(document, list):
            raise DataError(f"a reply is {quoted(str(document))}, and a klines feed answers with an array of arrays")
        stamps = [_opened(number, row, want) for number, row in enumerate(document)]
        return page_of([row[1:6] for row in document], stamps)


def _opened(number: int, row: Any, want: Want) -> int:
    """The open of a row's bar, after a look at the row's form."""
    if not isinstance(row, list) or len(row) != _FIELDS:
        raise DataError(f"row {number} of a reply is {quoted(str(row))}, and a kline is an array of {_FIELDS} fields")
    opened, closed = row[0], row[_CLOSE_TIME]
    if type(opened) is not int or opened % _MS:
        raise DataError(
            f"row {number} of a reply: open time {quoted(str(opened))} is not a whole second in milliseconds"
        )
    if closed != opened + want.timeframe.seconds * _MS - 1:
        raise DataError(
            f"row {number} of a reply ({stamp_text(opened // _MS)}): the bar closes at {quoted(str(closed))}, which is not a bar "
            f"of {want.timeframe}"
        )
    return opened // _MS
