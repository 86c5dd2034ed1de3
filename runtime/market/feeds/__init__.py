"""Bars over HTTP: two protocols, one fetch loop, and sets that the same request makes and brings up to date.

``fetch_set`` asks a ``Feed`` for closed bars page by page, stores each page in the home before it asks for the next, and
registers the whole as a data set; asked again it appends what is new. A ``Feed`` speaks ``Klines`` (the protocol that
Binance made common) or ``JsonRows`` (a JSON list of bars, described by configuration). What the network or the server
does ends as a ``Stopped`` value, and the same request goes on later; what is wrong with the data is a ``DataError``.
The wire is ``runtime.market.feeds.transport``, the only module here that imports httpx, and it is not imported here.
"""

from runtime.market.feeds.collect import Collected, FeedRequest, Refresh, fetch_set, refreshes
from runtime.market.feeds.dialect import Dialect
from runtime.market.feeds.exchange import Broken, Caller, Fault, Limits, PageRequest, Reply, Transport
from runtime.market.feeds.fetch import Feed, Fetched, Step
from runtime.market.feeds.jsonrows import FIELDS, JsonRows, PageStyle, Stamps, unknown_placeholders
from runtime.market.feeds.klines import Klines
from runtime.market.feeds.outcome import Stop, Stopped
from runtime.market.feeds.timing import Timing

__all__ = [
    "FIELDS",
    "Broken",
    "Caller",
    "Collected",
    "Dialect",
    "Fault",
    "Feed",
    "FeedRequest",
    "Fetched",
    "JsonRows",
    "Klines",
    "Limits",
    "PageRequest",
    "PageStyle",
    "Refresh",
    "Reply",
    "Stamps",
    "Step",
    "Stop",
    "Stopped",
    "Timing",
    "Transport",
    "fetch_set",
    "refreshes",
    "unknown_placeholders",
]
