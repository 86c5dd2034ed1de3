"""From a feed to a registered set: fetch each symbol, join it to what is registered already, and add what is new.

The same request makes a set the first time and brings it up to date every time after. The bars that the set ends with
are asked for again and must be the same; the new ones go to the vault, like those of a file that has grown.
"""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from runtime.market import catalog
from runtime.market.bars import PRICE_COLUMNS, Bars
from runtime.market.catalog import Manifest, Source
from runtime.market.errors import DataError, quoted
from runtime.market.feeds.fetch import OVERLAP_BARS, Fetched, compare_history, fetch
from runtime.market.feeds.outcome import Stopped
from runtime.market.feeds.paging import Want
from runtime.market.feeds.spool import open_spool
from runtime.market.quality import check_quality
from runtime.market.registration import Added, Wanted, add, check_name
from runtime.market.resample import resample
from runtime.market.sessions import bars_per_year
from runtime.market.table import SYMBOL_RULE, is_symbol
from runtime.market.vault import whole_bars
from runtime.model import Timeframe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runtime.market.feeds.exchange import Caller
    from runtime.market.feeds.fetch import Feed, Step
    from runtime.market.feeds.spool import Spool


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRequest:
    """What a person wants of a feed."""

    name: str
    """The set's name."""
    symbols: tuple[str, ...]
    timeframe: Timeframe
    """Step of the bars that the feed is asked for."""
    start: int | None
    """Open of the first bar, seconds since 1970 UTC; None only to bring a registered set up to date."""
    stop: int
    """First moment that is not wanted any more."""
    resample_to: Timeframe | None = None
    """Register bars of this longer timeframe, made from the feed's."""
    restart: bool = False
    """Forget what an unfinished download has stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """A finished fetch."""

    added: Added
    fetched: Mapping[str, Fetched]
    """By symbol, as the feed gave them: whole the first time, the end of them afterwards."""


def fetch_set(
    request: FeedRequest, feed: Feed, caller: Caller, home: Path, watch: Callable[[Step], object] = lambda _: None
) -> Collected | Stopped:
    """Make a set of a feed's bars, or bring it up to date.

    What was fetched is stored page by page in the home; after ``Stopped``, an exception or a kill the same request goes
    on from there. The stored pages are removed when the set has been registered.

    Raises:
        DataError: the request fits neither the feed nor the registered set, the feed's data cannot be used or
            contradict what is stored, or there are too few of them.
    """
    _check(request)
    known = catalog.read_manifest(request.name, home) if catalog.is_registered(request.name, home) else None
    if known is None and request.start is None:
        raise DataError(f"{quoted(request.name)} is not registered yet, so say with --from where its bars begin")
    old = {} if known is None else _known_bars(known, request, feed, home)
    fetched: dict[str, Fetched] = {}
    with ExitStack() as stack:
        spools: list[Spool] = []
        for symbol in request.symbols:
            want = _want(symbol, request, old.get(symbol))
            spool = stack.enter_context(open_spool(home, _question(want, feed)))
            spools.append(spool)
            if request.restart:
                spool.discard()
            result = fetch(want, feed, spool, caller, watch)
            if isinstance(result, Stopped):
                return result
            fetched[symbol] = result
        bars = {symbol: _joined(one.bars, old.get(symbol), request, feed) for symbol, one in fetched.items()}
        source = known.source if known is not None else _source(request, feed)
        added = add(Wanted(bars=bars, source=source, label="feed", name=request.name, stem=request.name), home)
        for spool in spools:
            spool.remove()
    return Collected(added=added, fetched=fetched)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """What brings a registered set up to date."""

    feed: str
    """Name of the feed that it came from."""
    request: FeedRequest


def refreshes(home: Path, now: int) -> tuple[Refresh, ...]:
    """For each registered set that came from a feed, by name, the request that appends what is new.

    Args:
        home: The home folder.
        now: Seconds since 1970 UTC.

    Raises:
        DataError: a registered set is damaged.
    """
    return tuple(
        Refresh(
            feed=known.source.feed,
            request=FeedRequest(
                name=known.name,
                symbols=tuple(known.entries),
                timeframe=Timeframe.parse(known.source.timeframe),
                start=None,
                stop=now,
                resample_to=known.timeframe if known.source.resampled_from else None,
            ),
        )
        for known in catalog.read_manifests(home)
        if known.source.feed is not None and known.source.timeframe is not None
    )


def _check(request: FeedRequest) -> None:
    check_name(request.name)
    for symbol in request.symbols:
        if not is_symbol(symbol):
            raise DataError(f"symbol {quoted(symbol)}: {SYMBOL_RULE}")
    if len(set(request.symbols)) < len(request.symbols) or not request.symbols:
        raise DataError("name each symbol once, and at least one")
    if request.start is not None and request.start >= request.stop:
        raise DataError("the time to fetch is empty: --from must lie before --to and before now")


def _source(request: FeedRequest, feed: Feed) -> Source:
    asked = (feed.name, request.symbols, str(request.timeframe), request.start, str(request.resample_to))
    return Source(
        kind="feed",
        sha256=hashlib.sha256(repr(asked).encode()).hexdigest(),
        timeframe=str(request.timeframe),
        calendar=feed.calendar.name if feed.calendar else None,
        resampled_from=str(request.timeframe) if request.resample_to else None,
        feed=feed.name,
    )


def _known_bars(known: Manifest, request: FeedRequest, feed: Feed, home: Path) -> dict[str, Bars]:
    """The registered bars, after making sure that this request is the one they came from."""
    asked = _source(request, feed)
    same = replace(known.source, sha256="") == replace(asked, sha256="")
    same = same and (request.start is None or known.source.sha256 == asked.sha256)
    if (
        not same
        or tuple(known.entries) != request.symbols
        or known.timeframe != (request.resample_to or request.timeframe)
    ):
        raise DataError(
            f"{request.name} is registered and was made otherwise ({_told(known)}); ask for the same to bring it up to "
            f"date, with the same --from or none, or choose another name"
        )
    return whole_bars(request.name, home)


def _told(known: Manifest) -> str:
    source = known.source
    if source.kind != "feed":
        return f"from a {source.kind}"
    joined = f", resampled to {known.timeframe}" if source.resampled_from else ""
    calendar = f", calendar {source.calendar}" if source.calendar else ""
    return f"feed {source.feed}, {' '.join(known.entries)}, {source.timeframe}{joined}{calendar}"


def _want(symbol: str, request: FeedRequest, old: Bars | None) -> Want:
    start = request.start if old is None else int(old.ts[-OVERLAP_BARS:][0])
    assert start is not None
    return Want(symbol=symbol, timeframe=request.timeframe, start=start, stop=request.stop)


def _question(want: Want, feed: Feed) -> str:
    """What must be equal for a stored part to be continued; the end of the wanted time is not part of it."""
    return repr((feed.name, feed.dialect.identity, want.symbol, want.timeframe.seconds, want.start))


def _joined(new: Bars, old: Bars | None, request: FeedRequest, feed: Feed) -> Bars:
    """The set's bars of one symbol: resampled, and appended to the registered ones."""
    if request.resample_to is not None:
        new = resample(new, request.resample_to, calendar=feed.calendar).bars
    if old is None:
        years = bars_per_year(new.ts, new.timeframe, feed.calendar)
        joined = replace(new, instrument=replace(new.instrument, bars_per_year=years))
    else:
        joined = _appended(new, old)
    report = check_quality(joined)
    if report.errors:
        raise DataError(f"{new.instrument.symbol}, {report.errors[0]}; the feed cannot be used like this")
    return joined


def _appended(new: Bars, old: Bars) -> Bars:
    name = old.instrument.symbol
    after = int(np.searchsorted(new.ts, old.ts[-1], side="right"))
    if not after:
        raise DataError(
            f"{name}: the feed no longer has the last bars of the registered set, so nothing can be compared"
        )
    shared = (old.ts >= new.ts[0]) & (old.ts <= new.ts[-1])
    try:
        compare_history(old.ts[shared], _columns(old)[:, shared], new.ts[:after], _columns(new)[:, :after])
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    columns = np.concatenate((_columns(old), _columns(new)[:, after:]), axis=1)
    named = dict(zip(PRICE_COLUMNS, columns, strict=True))
    return replace(old, ts=np.concatenate((old.ts, new.ts[after:])), **named)


def _columns(bars: Bars) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.stack([getattr(bars, name) for name in PRICE_COLUMNS])
