"""What goes into the gate cage and what comes out, as bytes: a JSON header and raw parts. No pickle.

Jobs and bars are made by us. Results come from a process that has run a candidate: every field is checked, and a text in
one is candidate text.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gates.rules import RULES, finding
from runtime.kernel import AccountKind, Costs, RunConfig
from runtime.market.bars import PRICE_COLUMNS, Bars
from runtime.model import Instrument, Timeframe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gates.findings import Finding

_LENGTH: Final = struct.Struct(">I")
_MAX_PARTS: Final = 10_000
_MAX_FINDINGS: Final = 100
# A class name and a few findings fit many times over.
_MAX_RESULT_BYTES = 256 * 1024
_MAX_MESSAGE: Final = 500
_GATES: Final = {rule.id: rule.gate for rule in RULES}


class WireError(ValueError):
    """Bytes that do not follow this protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellJob:
    """One run over rows of preloaded bars, in a load of its own."""

    key: str
    """Names bars that the cage was opened with."""
    start: int
    """First row that is traded, counted from 0."""
    stop: int
    """Row after the last one."""
    warmup: int
    """Rows before ``start`` that feed indicators and history."""

    def __post_init__(self) -> None:
        if not 0 <= self.warmup <= self.start < self.stop:
            raise ValueError(
                f"cell {self.key}: rows {self.start}..{self.stop} with {self.warmup} before them do not exist"
            )

    def bars(self, whole: Bars) -> Bars:
        """The rows of this cell, warm-up first."""
        return whole.between(self.start - self.warmup, self.stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a caged child is asked to do with one source: gates two and three, then the cells, if there are any."""

    source: bytes
    class_name: str
    """The one strategy class, as the scan found it."""
    cells: tuple[CellJob, ...] = ()
    config: RunConfig = RunConfig()  # noqa: RUF009 - frozen
    is_known: bool = False
    """Another child has admitted the same source: this one leaves out the dry run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """The other thing that a child may be asked: to seat a source and be sent the bars. All that it is told before them."""

    source: bytes
    class_name: str
    """As in ``Job``."""
    instrument: Instrument
    timeframe: Timeframe


MASKED_SYMBOL = "MASKED"
"""What every strategy sees as its instrument's name, in the dry run, in the search and in proof runs."""

PASSED = b"passed"
"""What a child sends after gate two, and again after gate three; then come its reports. A claim: it decides how the child's end
is put in words."""


class Result(NamedTuple):
    """A child's last word about a source; the reports of its cells were sent before it, one message each."""

    class_name: str | None
    """The loaded strategy class; None when there are findings."""
    findings: tuple[Finding, ...]


def pack(header: Mapping[str, object], parts: Sequence[bytes] = ()) -> bytes:
    """A header and parts as one piece of bytes.

    >>> unpack(pack({"a": 1}, [b"xy"]))
    ({'a': 1}, [b'xy'])
    """
    text = json.dumps({**header, "_parts": [len(part) for part in parts]}, allow_nan=False).encode("ascii")
    return b"".join((_LENGTH.pack(len(text)), text, *parts))


def unpack(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The header and the parts.

    Raises:
        WireError: anything is off.
    """
    try:
        (length,) = _LENGTH.unpack_from(data)
        header = json.loads(data[_LENGTH.size : _LENGTH.size + length].decode("ascii"))
    except (struct.error, ValueError, RecursionError) as error:
        raise WireError("no header") from error
    lengths = header.pop("_parts", None) if isinstance(header, dict) else None
    if not isinstance(lengths, list) or len(lengths) > _MAX_PARTS:
        raise WireError("no list of parts")
    if any(type(size) is not int or size < 0 for size in lengths):
        raise WireError("a part without a length")
    start = _LENGTH.size + length
    if start + sum(lengths) != len(data):
        raise WireError("parts and bytes do not add up")
    parts = []
    for size in lengths:
        parts.append(data[start : start + size])
        start += size
    return header, parts


def encode_bars(bars: Mapping[str, Bars]) -> bytes:
    """All bars of a cage, for ``decode_bars`` in its zygote."""
    header = [
        {"key": key, "instrument": asdict(one.instrument), "seconds": one.timeframe.seconds}
        for key, one in bars.items()
    ]
    parts = [getattr(one, name).tobytes() for one in bars.values() for name in ("ts", *PRICE_COLUMNS)]
    return pack({"bars": header}, parts)


def decode_bars(blob: bytes) -> dict[str, Bars]:
    """The bars that ``encode_bars`` was given."""
    header, parts = unpack(blob)
    columns = iter(parts)
    return {
        one["key"]: Bars(
            instrument=Instrument(**one["instrument"]),
            timeframe=Timeframe(one["seconds"]),
            ts=np.frombuffer(next(columns), dtype=np.int64),
            **{name: np.frombuffer(next(columns), dtype=np.float64) for name in PRICE_COLUMNS},
        )
        for one in header["bars"]
    }


def encode_job(job: Job) -> bytes:
    """A job, for ``decode_job`` in the child."""
    config = {**asdict(job.config), "account": job.config.account.value}
    cells = [asdict(cell) for cell in job.cells]
    header = {"class_name": job.class_name, "cells": cells, "config": config, "is_known": job.is_known}
    return pack(header, [job.source])


def encode_seat(seat: Seat) -> bytes:
    """A seat, for ``decode_job`` in the child."""
    instrument = asdict(seat.instrument)
    return pack(
        {"class_name": seat.class_name, "instrument": instrument, "seconds": seat.timeframe.seconds}, [seat.source]
    )


def decode_job(data: bytes) -> Job | Seat:
    """What ``encode_job`` or ``encode_seat`` was given."""
    header, (source,) = unpack(data)
    if "instrument" in header:
        return Seat(
            source=source,
            class_name=header["class_name"],
            instrument=Instrument(**header["instrument"]),
            timeframe=Timeframe(header["seconds"]),
        )
    config = header["config"]
    config.update(costs=Costs(**config["costs"]), account=AccountKind(config["account"]))
    cells = tuple(CellJob(**cell) for cell in header["cells"])
    return Job(
        source=source,
        class_name=header["class_name"],
        cells=cells,
        config=RunConfig(**config),
        is_known=header["is_known"],
    )


def encode_result(result: Result) -> bytes:
    """What a child found, for ``decode_result`` in the parent."""
    findings = [[one.rule, one.line, one.column, one.message] for one in result.findings]
    return pack({"class_name": result.class_name, "findings": findings})


def decode_result(data: bytes, *, class_name: str) -> Result:
    """Take a child's word apart. Only what could have been said honestly passes.

    Args:
        data: what the child sent.
        class_name: the class that the scanner found; an admitting child must have loaded the same.

    Raises:
        WireError: anything is off.
    """
    if len(data) > _MAX_RESULT_BYTES:
        raise WireError("a result that is too long to read")
    header, parts = unpack(data)
    if parts or set(header) != {"class_name", "findings"} or not isinstance(header["findings"], list):
        raise WireError("a result with other fields")
    findings = tuple(_finding(claim) for claim in header["findings"][: _MAX_FINDINGS + 1])
    if len(findings) > _MAX_FINDINGS or len({found.gate for found in findings}) > 1:
        raise WireError("findings of several gates, or too many")
    if header["class_name"] != (None if findings else class_name):
        raise WireError("another class than the one that was sent")
    return Result(header["class_name"], findings)


def _finding(claim: object) -> Finding:
    if not isinstance(claim, list) or len(claim) != 4:
        raise WireError("a finding that is none")
    rule, line, column, message = claim
    if not isinstance(rule, str) or _GATES.get(rule) not in {2, 3}:
        raise WireError("a finding of no rule of gates two and three")
    if any(type(number) is not int or not 1 <= number <= 100_000 for number in (line, column)):
        raise WireError("a finding at no place")
    if not isinstance(message, str) or not 0 < len(message) <= _MAX_MESSAGE or not message.isprintable():
        raise WireError("a finding without a plain message")
    return finding(rule, message, line=line, column=column)
