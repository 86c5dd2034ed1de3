"""What a feed's protocol must tell the fetch loop, and the checks that all of them share."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from runtime.market.bars import PRICE_COLUMNS
from runtime.market.calendar import stamp_text
from runtime.market.errors import DataError, quoted
from runtime.market.feeds.paging import Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.market.feeds.exchange import PageRequest
    from runtime.market.feeds.paging import Paging, Place, Want

# What JSON writes as a number. Not float(): that also reads "nan", "1_000" and digits of other scripts.
_DECIMAL = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?")


class Dialect(Protocol):
    """A feed's protocol, without its address. Pure: nothing here sends anything."""

    @property
    def identity(self) -> str:
        """Equal text means that a stored part of a download can be continued."""

    @property
    def paging(self) -> Paging:
        """How pages follow each other."""

    def request(self, want: Want, place: Place) -> PageRequest:
        """The request for a page.

        Raises:
            DataError: the feed has no such timeframe.
        """

    def read(self, want: Want, body: bytes) -> Page:
        """The rows of a reply.

        Raises:
            UnreadableError: it is no JSON; asking again may help.
            DataError: its content is not what the dialect says.
        """


def page_of(rows: Sequence[Sequence[Any]], stamps: Sequence[int], *, token: str | None = None) -> Page:
    """A page out of a reply's values, each checked.

    Args:
        rows: Per row open, high, low, close and volume, as numbers or as text.
        stamps: Per row its open, seconds since 1970 UTC.
        token: Where the next page is.

    Raises:
        DataError: a value is no finite number, or a row is not after the one before; names the row, counted from 0.
    """
    for row, (before, now) in enumerate(pairwise(stamps), start=1):
        if now <= before:
            fault = "is there twice" if now == before else f"comes after {stamp_text(before)}"
            raise DataError(f"row {row} of a reply: {stamp_text(now)} {fault}, and a feed's bars must be in time order")
    columns = np.empty((len(PRICE_COLUMNS), len(rows)), dtype=np.float64)
    for row, values in enumerate(rows):
        for place, (name, value) in enumerate(zip(PRICE_COLUMNS, values, strict=True)):
            number = number_from(value)
            if number is None:
                raise DataError(
                    f"row {row} of a reply ({stamp_text(stamps[row])}): {name} is {quoted(str(value))}, and every price and "
                    f"volume must be a finite number"
                )
            columns[place, row] = number
    return Page(ts=np.array(stamps, dtype=np.int64), columns=columns, token=token)


def number_from(value: Any) -> float | None:
    """A finite number, given as one or as decimal text; None for everything else.

    >>> number_from("0.0163"), number_from(7), number_from("NaN"), number_from(True)
    (0.0163, 7.0, None, None)
    """
    if isinstance(value, str):
        value = float(value) if _DECIMAL.fullmatch(value) else None
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
