"""Any endpoint that answers with a JSON list of bars: what it calls things is configuration.

A query value or the path may hold ``{symbol}``, ``{timeframe}``, ``{start}``, ``{stop}``, ``{limit}``, ``{page}`` and
``{token}``; a query entry whose token is still empty is left out. ``rows`` and ``next`` are dotted paths into the reply,
``fields`` dotted paths into a row, in which numbers count places of a list: ``"0"``, ``"ohlc.1"``, ``"close"``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from runtime.market.bars import PRICE_COLUMNS
from runtime.market.calendar import parse_stamp
from runtime.market.errors import DataError, quoted
from runtime.market.feeds.dialect import number_from, page_of
from runtime.market.feeds.exchange import PageRequest, read_json
from runtime.market.feeds.paging import NumberPaging, TimePaging, TokenPaging, WindowPaging

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.market.feeds.paging import Page, Paging, Place, Want

PLACEHOLDERS = frozenset({"symbol", "timeframe", "start", "stop", "limit", "page", "token"})
FIELDS = ("timestamp", *PRICE_COLUMNS)
"""What a row must hold."""
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MS = 1_000


class Stamps(Enum):
    """How an endpoint writes moments, in rows and in the query."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    ISO = "iso"


class PageStyle(Enum):
    """How an endpoint pages (the classes are in ``dialect``)."""

    TIME = "time"
    WINDOW = "window"
    NUMBER = "page"
    TOKEN = "token"  # noqa: S105 - the name of a style, no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRows:
    """A ``Dialect`` made of configuration."""

    path: str
    query: Mapping[str, str]
    rows: str = ""
    """Where in the reply the list of bars is; "" when the reply is the list."""
    fields: Mapping[str, str] = field(default_factory=lambda: {name: name for name in FIELDS})
    """Where in a row each of ``FIELDS`` is."""
    stamps: Stamps = Stamps.SECONDS
    style: PageStyle = PageStyle.TIME
    next: str = ""
    """Where in the reply the next page's token is, for the token style."""
    newest_first: bool = False
    """Whether the rows of a page are in reverse order; the pages themselves always go forward."""
    page_bars: int = 1_000
    timeframes: Mapping[str, str] = field(default_factory=dict)
    """What the endpoint calls each timeframe; empty where it calls them like we do."""

    @property
    def identity(self) -> str:
        """All of the configuration: another page size or path is another download."""
        return repr(self)

    @property
    def paging(self) -> Paging:
        """The configured style."""
        match self.style:
            case PageStyle.TIME:
                return TimePaging()
            case PageStyle.WINDOW:
                return WindowPaging(self.page_bars)
            case PageStyle.NUMBER:
                return NumberPaging()
            case PageStyle.TOKEN:
                return TokenPaging()

    def request(self, want: Want, place: Place) -> PageRequest:
        """The templates with this page's values in them."""
        own = str(want.timeframe)
        if self.timeframes and own not in self.timeframes:
            raise DataError(
                f"timeframe {own}: the feed has {', '.join(self.timeframes)}; fetch a shorter one and add --resample {own}"
            )
        values = {
            "symbol": want.symbol,
            "timeframe": self.timeframes.get(own, own),
            "start": self._moment(place.start),
            "stop": self._moment(place.stop),
            "limit": str(self.page_bars),
            "page": str(place.number),
            "token": place.token,
        }
        query = {name: fill(text, values) for name, text in self.query.items() if place.token or "{token}" not in text}
        path = fill(self.path, {name: quote(value, safe="") for name, value in values.items()})
        return PageRequest(path, tuple(query.items()))

    def read(self, want: Want, body: bytes) -> Page:
        """The bars of a reply, from where the configuration says they are."""
        del want
        document = read_json(body)
        rows = picked(document, self.rows)
        if not isinstance(rows, list):
            where = f"at {quoted(self.rows)}" if self.rows else "at its top"
            raise DataError(
                f"a reply has no list of bars {where}: {quoted(str(document))}; correct rows in the feed's section"
            )
        if self.newest_first:
            rows = rows[::-1]
        stamps = [self._opened(number, row) for number, row in enumerate(rows)]
        columns = [[picked(row, self.fields[name]) for name in PRICE_COLUMNS] for row in rows]
        token = picked(document, self.next) if self.next else None
        return page_of(columns, stamps, token=None if token is None else str(token))

    def _opened(self, number: int, row: Any) -> int:
        value = picked(row, self.fields["timestamp"])
        try:
            if self.stamps is Stamps.ISO and isinstance(value, str) and not value.isdigit():
                return parse_stamp(value)
            count = None if self.stamps is Stamps.ISO else number_from(value)
            seconds = None if count is None else count / (_MS if self.stamps is Stamps.MILLISECONDS else 1)
            if seconds is not None and seconds.is_integer():
                # Through the reader of stamps, which knows the years that market data can have.
                return parse_stamp(datetime.fromtimestamp(int(seconds), UTC).isoformat())
        except (ValueError, OverflowError, OSError):
            pass
        raise DataError(
            f"row {number} of a reply: timestamp {quoted(str(value))} is not a whole second written as {quoted(self.stamps.value)}; "
            f"correct fields or stamps in the feed's section"
        )

    def _moment(self, seconds: int) -> str:
        if self.stamps is Stamps.ISO:
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return str(seconds * _MS if self.stamps is Stamps.MILLISECONDS else seconds)


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in place of ``{name}``; not ``str.format``, which also reads attributes.

    >>> fill("/v1/{symbol}/bars", {"symbol": "ABC"})
    '/v1/ABC/bars'
    """
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def unknown_placeholders(text: str) -> tuple[str, ...]:
    """Names in braces that are no placeholders.

    >>> unknown_placeholders("{symbol}-{colour}")
    ('colour',)
    """
    return tuple(name for name in _PLACEHOLDER.findall(text) if name not in PLACEHOLDERS)


def picked(value: Any, path: str) -> Any:
    """What a dotted path leads to; None when it leads nowhere."""
    for part in path.split(".") if path else ():
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
