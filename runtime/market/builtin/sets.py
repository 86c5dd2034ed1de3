"""The table of built-in sets: name, label, identity of the content, and how to get the bars."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from runtime.market.csvfile import table_from_csv
from runtime.market.synthetic import VERSION, planted_edge
from runtime.market.table import Reading, every
from runtime.model import Timeframe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.market.bars import Bars
    from runtime.market.dataset import Label

_LARGE_CAPS_FILE = "us-large-caps.csv.gz"
_DAILY = Timeframe.parse("1d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Builtin:
    """One set that needs no file."""

    name: str
    label: Label
    digest: Callable[[], str]
    """Cheap identity of the content: changes whenever the bars do."""
    load: Callable[[], Mapping[str, Bars]]
    """All bars by symbol, vault included; only registration calls it."""


def _large_caps_bytes() -> bytes:
    return files("runtime.market.builtin").joinpath(_LARGE_CAPS_FILE).read_bytes()


def _large_caps_digest() -> str:
    return hashlib.sha256(_large_caps_bytes()).hexdigest()


def _large_caps() -> dict[str, Bars]:
    text = gzip.decompress(_large_caps_bytes())
    return every(table_from_csv(text, _LARGE_CAPS_FILE), Reading(timeframe=_DAILY))


def _planted_edge_digest() -> str:
    return hashlib.sha256(VERSION.encode()).hexdigest()


BUILTINS: tuple[Builtin, ...] = (
    Builtin(name="us-large-caps", label="real", digest=_large_caps_digest, load=_large_caps),
    Builtin(name="planted-edge", label="synthetic", digest=_planted_edge_digest, load=planted_edge),
)


def builtin_names() -> tuple[str, ...]:
    """Names of the built-in sets, the default first."""
    return tuple(builtin.name for builtin in BUILTINS)


def find_builtin(name: str) -> Builtin | None:
    """The built-in set of that name, or None."""
    return next((builtin for builtin in BUILTINS if builtin.name == name), None)
