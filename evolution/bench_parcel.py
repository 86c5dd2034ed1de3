"""What a process needs to try the candidates of a run, as bytes: the bars of train, the cells on them, and how they are run.

A machine that only tries candidates gets this through the database and nothing else: no validation bar, no vault, no key.
Never pickle: whoever can write to the database must not be able to run code here.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evolution.bench import CellBench
from runtime.kernel import RunConfig
from runtime.kernel.report import AccountKind, Costs
from runtime.market import PRICE_COLUMNS, Bars, Cell
from runtime.model import Instrument, Timeframe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LARGEST_PARCEL = 1_000_000_000
"""Bytes, unpacked: 20 million bars. What is larger was not packed by a run."""
_COLUMNS = ("ts", *PRICE_COLUMNS)


_UNREADABLE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OSError,
    EOFError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


class NoParcelError(ValueError):
    """Bytes that ``pack`` did not make."""


class Unpacked(NamedTuple):
    """What was in a parcel."""

    bars: dict[str, Bars]
    """By symbol."""
    bench: CellBench


def pack(bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig) -> bytes:
    """Bars by symbol, the cells on them and the run's cash and costs; the same gives the same bytes."""
    head = {
        "symbols": {
            symbol: {"instrument": asdict(each.instrument), "timeframe": each.timeframe.seconds}
            for symbol, each in bars.items()
        },
        "cells": [asdict(cell) for cell in cells],
        "config": asdict(config) | {"account": config.account.value},
    }
    arrays = {f"{symbol}/{name}": getattr(each, name) for symbol, each in bars.items() for name in _COLUMNS}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), **arrays)
    return buffer.getvalue()


def unpack(parcel: bytes) -> Unpacked:
    """The way back, exact to the last bit.

    Raises:
        NoParcelError: It is no parcel, or larger than ``LARGEST_PARCEL``.
    """
    try:
        size = _size(parcel)
        if size <= LARGEST_PARCEL:
            return _unpacked(parcel)
    except _UNREADABLE as error:
        raise NoParcelError(f"it is no parcel ({type(error).__name__})") from error
    raise NoParcelError(f"it would take {size} bytes, and {LARGEST_PARCEL} are the most")


def _size(parcel: bytes) -> int:
    """Bytes unpacked, as the archive itself says: no more than that is ever read of it."""
    with zipfile.ZipFile(io.BytesIO(parcel)) as archive:
        return sum(member.file_size for member in archive.infolist())


def _unpacked(parcel: bytes) -> Unpacked:
    with np.load(io.BytesIO(parcel), allow_pickle=False) as stored:
        head = json.loads(stored["head"].tobytes())
        bars = {
            symbol: Bars(
                instrument=Instrument(**facts["instrument"]),
                timeframe=Timeframe(facts["timeframe"]),
                **{name: stored[f"{symbol}/{name}"] for name in _COLUMNS},
            )
            for symbol, facts in head["symbols"].items()
        }
    config = head["config"]
    run = RunConfig(**config | {"account": AccountKind(config["account"]), "costs": Costs(**config["costs"])})
    return Unpacked(bars=bars, bench=CellBench.build(bars, [Cell(**cell) for cell in head["cells"]], run))
