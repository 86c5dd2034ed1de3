"""What commands open: settings, data sets, cages, the store; each fault of the user or the machine as one sentence."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from flows.problems import EnvironmentProblem, UsageProblem
from flows.settings import database_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sqlalchemy import Engine

    from runtime.cage import Cage
    from runtime.market import Bars, DataSet, DataSetSummary, QualityReport, Vault
    from runtime.model import Timeframe


@contextmanager
def gate_cage(bars: Mapping[str, Bars], mode: str | None) -> Iterator[Cage]:
    """A cage with the gates and ``bars`` inside, closed at the end.

    Raises:
        UsageProblem: an unknown mode.
        EnvironmentProblem: a required layer is missing; the sentence holds the exact command for the reduced cage.
    """
    from gates import open_gate_cage
    from runtime.cage import CageMode, CageUnavailable

    try:
        chosen = CageMode(mode or "full")
    except ValueError:
        raise UsageProblem(f"--cage {mode}: write full or reduced") from None
    try:
        cage = open_gate_cage(bars, mode=chosen)
    except CageUnavailable as error:
        raise EnvironmentProblem(str(error)) from error
    with cage:
        yield cage


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


def checked_file(path: Path, *, symbol: str | None, timeframe: str | None) -> dict[str, QualityReport]:
    """All that is wrong or suspicious in a data file, by symbol.

    Raises:
        UsageProblem: it cannot even be read as bars.
    """
    from runtime.market import DataError, check_file

    try:
        return check_file(path, symbol=symbol, timeframe=_step(timeframe))
    except DataError as error:
        raise UsageProblem(str(error)) from error


def _step(text: str | None) -> Timeframe | None:
    from runtime.model import Timeframe

    try:
        return Timeframe.parse(text) if text else None
    except ValueError as error:
        raise UsageProblem(str(error)) from None
