"""What commands open: settings, data sets, cages, the store; each fault of the user or the machine as one sentence."""

from __future__ import annotations

import os
import random
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from flows.problems import EnvironmentProblem, UsageProblem
from flows.settings import CONFIG_NAME, database_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from sqlalchemy import Engine

    from evolution.pool import CageRunner
    from flows.feeds import FeedSection
    from runtime.cage import Cage, CageLimits, CageMode
    from runtime.market import Added, Bars, DataSet, DataSetSummary, QualityReport, Vault
    from runtime.market.feeds import Collected, FeedRequest, Refresh, Step
    from runtime.model import Timeframe

_T = TypeVar("_T")


class FileChoice(NamedTuple):
    """How a person wants a file to become a set, as it was typed; None leaves it to the file."""

    name: str | None
    symbol: str | None
    timeframe: str | None
    calendar: str | None
    resample: str | None


@contextmanager
def gate_cage(bars: Mapping[str, Bars], mode: str | None) -> Iterator[Cage]:
    """A cage with the gates and ``bars`` inside, closed at the end.

    Raises:
        UsageProblem: an unknown mode.
        EnvironmentProblem: a required layer is missing; the sentence holds the exact command for the reduced cage.
    """
    from gates import open_gate_cage

    with _opened(lambda chosen: open_gate_cage(bars, mode=chosen), mode) as cage:
        yield cage


@contextmanager
def runner(bars: Mapping[str, Bars], mode: str | None, limits: CageLimits) -> Iterator[CageRunner]:
    """What admission and looks run sources with: a cage that holds ``bars``, and one for proof runs that holds none.

    Raises:
        UsageProblem, EnvironmentProblem: as ``gate_cage``.
    """
    from evolution.pool import open_runner

    with _opened(lambda chosen: open_runner(bars, mode=chosen, limits=limits), mode) as opened:
        yield opened


@contextmanager
def _opened(opened: Callable[[CageMode], AbstractContextManager[_T]], mode: str | None) -> Iterator[_T]:
    from runtime.cage import CageMode, CageUnavailable

    try:
        chosen = CageMode(mode or "full")
    except ValueError:
        raise UsageProblem(f"--cage {mode}: write full or reduced") from None
    with ExitStack() as stack:
        try:
            entered = stack.enter_context(opened(chosen))
        except CageUnavailable as error:
            raise EnvironmentProblem(str(error)) from error
        yield entered


def dataset(name: str, home: Path, *, symbol: str | None = None, timeframe: str | None = None) -> DataSet:
    """A registered or built-in set, or a data file that is registered now.

    Raises:
        UsageProblem: what the market data package has to say about it, in its own sentence.
    """
    from runtime.market import DataError, open_dataset

    try:
        return open_dataset(name, home, symbol=symbol, timeframe=_step(timeframe))
    except DataError as error:
        raise UsageProblem(str(error)) from error


def engine(home: Path) -> Engine:
    """The store's database, migrated to this version.

    Raises:
        EnvironmentProblem: it cannot be opened, or comes from a newer version.
    """
    from runtime.store import StoreError, open_engine

    try:
        return open_engine(home, database_url())
    except StoreError as error:
        raise EnvironmentProblem(str(error)) from error


def vault(name: str, home: Path) -> Vault:
    """The vault of a registered set. Only promotion calls this.

    Raises:
        EnvironmentProblem: it is damaged or gone.
    """
    from runtime.market import DataError, open_vault

    try:
        return open_vault(name, home)
    except DataError as error:
        raise EnvironmentProblem(str(error)) from error


def known_sets(home: Path) -> tuple[DataSetSummary, ...]:
    """Built-in and registered sets.

    Raises:
        EnvironmentProblem: one of them is damaged.
    """
    from runtime.market import DataError, list_datasets

    try:
        return list_datasets(home)
    except DataError as error:
        raise EnvironmentProblem(str(error)) from error


def loose_file(path: Path, *, symbol: str | None, timeframe: str | None) -> Bars:
    """All bars of a data file, without registering it.

    Raises:
        UsageProblem: the file cannot be used; the sentence names the row.
    """
    from runtime.market import DataError, read_file

    try:
        return read_file(path, symbol=symbol, timeframe=_step(timeframe))
    except DataError as error:
        raise UsageProblem(str(error)) from error


def checked_file(path: Path, home: Path, *, symbol: str | None, timeframe: str | None) -> dict[str, QualityReport]:
    """All that is wrong or suspicious in a data file, by symbol.

    Raises:
        UsageProblem: it cannot even be read as bars.
    """
    from runtime.market import DataError, check_file

    try:
        return check_file(path, symbol=symbol, timeframe=_step(timeframe))
    except DataError as error:
        if not path.exists() and any(each.name == str(path) for each in known_sets(home)):
            raise UsageProblem(
                f"{path} is a data set, checked when it was added; trigate data show {path} prints what was found"
            ) from error
        raise UsageProblem(str(error)) from error


def added_file(path: Path, home: Path, request: FileChoice) -> Added:
    """Register a data file, or add what is new in it.

    Raises:
        UsageProblem: the file or the choice cannot be used; the sentence names the row or the rule.
    """
    from runtime.market import DataError, FileRequest, add_file, find_calendar

    try:
        wanted = FileRequest(
            name=request.name,
            symbol=request.symbol,
            timeframe=_step(request.timeframe),
            calendar=find_calendar(request.calendar) if request.calendar is not None else None,
            resample_to=_step(request.resample),
        )
        return add_file(path, home, wanted)
    except DataError as error:
        raise UsageProblem(str(error)) from error


def exported(name: str, home: Path, path: Path, *, symbol: str | None) -> DataSet:
    """Write the search part of a registered set to a new file.

    Raises:
        UsageProblem: there is no such set, or the file cannot be written.
    """
    from runtime.market import DataError, write_file

    chosen = named_set(name, home)
    try:
        narrowed = chosen if symbol is None else chosen.only(symbol)
        write_file(path, narrowed.bars)
    except DataError as error:
        raise UsageProblem(str(error)) from error
    return narrowed


def named_set(name: str, home: Path) -> DataSet:
    """A built-in or registered set, by its name only: a path is not registered in passing.

    Raises:
        UsageProblem: there is no set of that name; the sentence lists those that there are.
    """
    names = [each.name for each in known_sets(home)]
    if name not in names:
        raise UsageProblem(
            f"there is no data set {name!r}, only {', '.join(names)}; a file becomes one with: trigate data add"
        )
    return dataset(name, home)


def due_refreshes(home: Path) -> tuple[Refresh, ...]:
    """What brings each set that came from a feed up to date.

    Raises:
        EnvironmentProblem: a registered set is damaged.
    """
    from flows.clock import now
    from runtime.market import DataError
    from runtime.market.feeds import refreshes

    try:
        return refreshes(home, int(now().timestamp()))
    except DataError as error:
        raise EnvironmentProblem(str(error)) from error


def fetched_set(
    feeds: Mapping[str, FeedSection], feed: str, request: FeedRequest, home: Path, watch: Callable[[Step], object]
) -> Collected:
    """Make a set of a feed's bars, or bring it up to date.

    Args:
        feeds: All sections, by name.
        feed: The name of the one to use.
        request: What is wanted of it.
        home: The home folder.
        watch: Told after each page.

    Raises:
        UsageProblem: there is no such feed, or the request or the feed's data cannot be used.
        EnvironmentProblem: the feed could not be reached or gave no more; the same command goes on.
    """
    from flows.clock import now
    from runtime.market import DataError
    from runtime.market.feeds import Caller, Stop, Stopped, Timing, fetch_set
    from runtime.market.feeds.transport import HttpTransport

    section = _chosen_feed(feeds, feed)
    source = section.feed(feed)
    timing = Timing(now=now, monotonic=time.monotonic, sleep=time.sleep, jitter=random.Random())
    try:
        with HttpTransport(section.base_url, section.headers(os.environ)) as transport:
            result = fetch_set(request, source, Caller(transport, timing, source.limits), home, watch)
    except DataError as error:
        raise UsageProblem(str(error)) from error
    if isinstance(result, Stopped):
        sentence = f"feed {feed}: {result.reason}; {result.stop.value}; what was fetched is kept"
        raise UsageProblem(sentence) if result.stop is Stop.REJECTED else EnvironmentProblem(sentence)
    return result


def _chosen_feed(feeds: Mapping[str, FeedSection], name: str) -> FeedSection:
    if name not in feeds:
        known = ", ".join(sorted(feeds)) or "none"
        raise UsageProblem(
            f"feed {name!r} is not in {CONFIG_NAME} (it has: {known}); add a section [feeds.{name}] with a dialect "
            f"(klines or json) and a base_url"
        )
    return feeds[name]


def moment(option: str, text: str) -> int:
    """A date or datetime that somebody typed, as seconds since 1970 UTC.

    Raises:
        UsageProblem: it is none.
    """
    from runtime.market.calendar import parse_stamp

    try:
        return parse_stamp(text)
    except (ValueError, OverflowError) as error:
        raise UsageProblem(f"{option}: {error}") from None


def step(text: str) -> Timeframe:
    """A timeframe that somebody typed.

    Raises:
        UsageProblem: it is none.
    """
    from runtime.model import Timeframe

    try:
        return Timeframe.parse(text)
    except ValueError as error:
        raise UsageProblem(str(error)) from None


def _step(text: str | None) -> Timeframe | None:
    return step(text) if text else None
