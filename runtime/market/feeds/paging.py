"""How a feed's pages follow each other: by time, by windows of time, by number, or by a token in the reply.

A cursor is text, so that it can be stored with a page; only the paging that made it reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from runtime.model import Timeframe


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """Bars of one symbol that open in ``[start, stop)``, seconds since 1970 UTC."""

    symbol: str
    timeframe: Timeframe
    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Page:
    """Rows of a reply, oldest first, each stamp once; what is not closed yet is still among them."""

    ts: NDArray[np.int64]
    """Shape ``(n,)``, opens in seconds since 1970 UTC."""
    columns: NDArray[np.float64]
    """Shape ``(5, n)``, in the order of ``PRICE_COLUMNS``, all finite."""
    token: str | None = None
    """Where the next page is, for protocols that say so."""


class Place(NamedTuple):
    """Where a page lies; a dialect uses what its protocol has."""

    start: int
    """Earliest open, seconds since 1970 UTC."""
    stop: int
    """First moment after the page."""
    number: int = 0
    """Counted from 1."""
    token: str = ""
    """What the reply before gave; "" on the first page."""


class Paging(Protocol):
    """One way to walk through pages, oldest first."""

    def first(self, want: Want) -> str:
        """The cursor of the first page."""

    def at(self, moment: int) -> str | None:
        """A cursor whose page begins at a moment; None when the protocol cannot begin there."""

    def place(self, want: Want, cursor: str) -> Place:
        """Where a cursor's page lies."""

    def after(self, want: Want, cursor: str, page: Page, newest: int | None) -> str | None:
        """The cursor after a page; None when there is no more. ``newest`` is the newest stamp of the pages before."""


@dataclass(frozen=True, slots=True)
class TimePaging:
    """Each page begins at the last bar of the one before: every edge is fetched twice, so that it can be compared."""

    def first(self, want: Want) -> str:
        """The wanted start."""
        return str(want.start)

    def at(self, moment: int) -> str | None:
        """The moment itself."""
        return str(moment)

    def place(self, want: Want, cursor: str) -> Place:
        """From the cursor to the end; the feed ends the page where it likes."""
        return Place(int(cursor), want.stop)

    def after(self, want: Want, cursor: str, page: Page, newest: int | None) -> str | None:
        """The page's last bar; a page that brings nothing beyond its beginning is the end of what the feed has."""
        del newest
        last = int(page.ts[-1]) if len(page.ts) else int(cursor)
        return str(last) if int(cursor) < last < want.stop - want.timeframe.seconds else None


@dataclass(frozen=True, slots=True)
class WindowPaging:
    """Pages of equal length in time, for feeds that answer with the newest bars of a range. Empty ones are passed over."""

    page_bars: int

    def first(self, want: Want) -> str:
        """The wanted start."""
        return str(want.start)

    def at(self, moment: int) -> str | None:
        """The moment itself."""
        return str(moment)

    def place(self, want: Want, cursor: str) -> Place:
        """One bar less than a page, since some feeds count the bar at the end too."""
        stop = int(cursor) + (self.page_bars - 1) * want.timeframe.seconds
        return Place(int(cursor), min(stop, want.stop))

    def after(self, want: Want, cursor: str, page: Page, newest: int | None) -> str | None:
        """Where the window ends, whatever was in it."""
        del page, newest
        stop = self.place(want, cursor).stop
        return str(stop) if stop < want.stop else None


@dataclass(frozen=True, slots=True)
class NumberPaging:
    """Pages with numbers from 1, oldest first, until one brings nothing newer."""

    def first(self, want: Want) -> str:
        """Page 1."""
        del want
        return "1"

    def at(self, moment: int) -> str | None:
        """Nobody knows on which page a moment is."""
        del moment
        return None

    def place(self, want: Want, cursor: str) -> Place:
        """The page's number."""
        return Place(want.start, want.stop, number=int(cursor))

    def after(self, want: Want, cursor: str, page: Page, newest: int | None) -> str | None:
        """The next number while pages bring something newer that is wanted."""
        if not len(page.ts) or int(page.ts[-1]) >= want.stop:
            return None
        return str(int(cursor) + 1) if newest is None or int(page.ts[-1]) > newest else None


@dataclass(frozen=True, slots=True)
class TokenPaging:
    """Each reply names the next page."""

    def first(self, want: Want) -> str:
        """No token yet."""
        del want
        return ""

    def at(self, moment: int) -> str | None:
        """Nobody knows the token of a moment."""
        del moment
        return None

    def place(self, want: Want, cursor: str) -> Place:
        """The page's token."""
        return Place(want.start, want.stop, token=cursor)

    def after(self, want: Want, cursor: str, page: Page, newest: int | None) -> str | None:
        """The token of the reply; one that stays the same leads nowhere."""
        del want, newest
        return page.token if page.token and page.token != cursor else None
