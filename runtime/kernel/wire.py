"""A report as bytes and back: a JSON header, then raw float64 arrays. No pickle, nothing that runs code.

``decode_report`` is written against a hostile sender. It takes the bars and the configuration of the run from the
caller, never from the bytes, and accepts only a report that those explain (``runtime.kernel.audit``): the arithmetic
of every fill, the trades and the whole equity curve are computed again from the fills.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from runtime.kernel.audit import FillClaim, RefusalClaim, ReportClaim, ReportError, TradeClaim, audited
from runtime.kernel.report import Failure, OrderEntry, RunEnd
from runtime.model import Side

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from runtime.kernel.report import RunConfig, RunReport
    from runtime.market.bars import Bars

__all__ = ["ReportError", "decode_report", "encode_report"]

_MAGIC = b"TRR1"
_PREFIX = struct.Struct(">4sII")
"""Magic, bytes of the header, number of bars."""

# No report that the limits allow comes near; a longer header is not worth parsing.
_MAX_HEADER = 32 * 1024 * 1024
_MAX_ITEMS = 1_000_000
_MAX_COUNT = 2**53

_HOOKS = frozenset({"load", "__init__", "on_start", "on_bar", "on_fill", "on_stop"})
_KEYS = frozenset(
    {
        "end",
        "failure",
        "first_tradable_bar",
        "fills",
        "trades",
        "refused",
        "refused_count",
        "open_orders",
        "order_log",
        "log",
        "ruined",
    }
)


def encode_report(report: RunReport) -> bytes:
    """Bytes of a report, for ``decode_report``."""
    header = {
        "end": report.end.value,
        "failure": None if report.failure is None else asdict(report.failure),
        "first_tradable_bar": report.first_tradable_bar,
        "fills": [[_seconds(f.ts), f.side.value, f.quantity, f.price, f.fee, f.tag, f.order_id] for f in report.fills],
        "trades": [[t.mae, t.mfe, t.exit_reason] for t in report.trades],
        "refused": [[_seconds(r.ts), r.reason, r.order_id] for r in report.refused],
        "refused_count": report.refused_count,
        "open_orders": report.open_orders,
        "order_log": [[entry.row, entry.action] for entry in report.order_log],
        "log": list(report.log),
        "ruined": report.ruined,
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode("ascii")
    arrays = (np.ascontiguousarray(a, dtype="<f8").tobytes() for a in (report.equity, report.position))
    return b"".join((_PREFIX.pack(_MAGIC, len(text), len(report.position)), text, *arrays))


def _seconds(ts: datetime) -> int:
    return int(ts.timestamp())


def decode_report(data: bytes, bars: Bars, config: RunConfig) -> RunReport:
    """The report in ``data``, if it is one and the bars explain all of it.

    Args:
        data: what a child sent.
        bars: the bars of the run, from us.
        config: the configuration of the run, from us.

    Raises:
        ReportError: anything is off; names the first thing.
    """
    if len(data) < _PREFIX.size:
        _refuse("too short for a report")
    magic, size, n = _PREFIX.unpack_from(data)
    if magic != _MAGIC:
        _refuse("not a report")
    if n != len(bars):
        _refuse(f"a report of {n} bars, {len(bars)} expected")
    if size > _MAX_HEADER or len(data) != _PREFIX.size + size + 8 * (2 * n + 1):
        _refuse("lengths do not fit together")
    header = _parse(data[_PREFIX.size : _PREFIX.size + size])
    arrays = np.frombuffer(data, dtype="<f8", offset=_PREFIX.size + size).astype(np.float64)
    row_of = {ts: row for row, ts in enumerate(bars.ts.tolist())}
    return audited(_claim(header, arrays[: n + 1], arrays[n + 1 :], row_of), bars, config)


def _refuse(message: str) -> NoReturn:
    raise ReportError(message)


def _parse(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("ascii"), parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError):
        # ValueError covers bad JSON, bytes that are not ASCII, and whole numbers too long to read.
        raise ReportError("the header is not plain JSON") from None
    if type(header) is not dict or header.keys() != _KEYS:
        _refuse("the header has other keys than a report")
    return header


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _claim(header: dict[str, Any], equity: Any, position: Any, row_of: Mapping[int, int]) -> ReportClaim:
    first = header["first_tradable_bar"]
    return ReportClaim(
        end=_end(header["end"]),
        failure=_failure(header["failure"]),
        first_tradable_bar=None if first is None else _whole(first, "first_tradable_bar"),
        equity=equity,
        position=position,
        fills=tuple(_fill(item, row_of) for item in _items(header["fills"], 7, "fills")),
        trades=tuple(
            TradeClaim(_number(mae, "mae"), _number(mfe, "mfe"), _text(reason, 32, "exit reason"))
            for mae, mfe, reason in _items(header["trades"], 3, "trades")
        ),
        refused=tuple(
            RefusalClaim(_row(ts, row_of), _text(reason, 500, "reason"), _whole(order_id, "order id"))
            for ts, reason, order_id in _items(header["refused"], 3, "refused")
        ),
        refused_count=_whole(header["refused_count"], "refused_count"),
        open_orders=_whole(header["open_orders"], "open_orders"),
        order_log=tuple(
            OrderEntry(row=_whole(row, "row"), action=_text(action, 1000, "action"))
            for row, action in _items(header["order_log"], 2, "order_log")
        ),
        log=tuple(_text(line, 10_000, "log line") for line in _list(header["log"], "log")),
        ruined=_flag(header["ruined"]),
    )


def _fill(item: list[Any], row_of: Mapping[int, int]) -> FillClaim:
    ts, side, quantity, price, fee, tag, order_id = item
    if type(side) is not str or side not in {"buy", "sell"}:
        _refuse("side of a fill")
    claim = FillClaim(
        row=_row(ts, row_of),
        side=Side(side),
        quantity=_number(quantity, "quantity"),
        price=_number(price, "price"),
        fee=_number(fee, "fee"),
        tag=_text(tag, 64, "tag"),
        order_id=_whole(order_id, "order id"),
    )
    if claim.quantity <= 0.0 or claim.price <= 0.0 or claim.fee < 0.0:
        _refuse("a fill without quantity or price, or with a negative fee")
    return claim


def _failure(value: Any) -> Failure | None:
    if value is None:
        return None
    if type(value) is not dict or value.keys() != {"hook", "exception", "line", "message"}:
        _refuse("failure")
    hook, line = _text(value["hook"], 32, "hook"), value["line"]
    if hook not in _HOOKS:
        _refuse("hook of the failure")
    return Failure(
        hook=hook,
        exception=_text(value["exception"], 64, "exception"),
        line=None if line is None else _whole(line, "line"),
        message=_text(value["message"], 500, "message"),
    )


def _end(value: Any) -> RunEnd:
    if type(value) is not str or value not in {end.value for end in RunEnd}:
        _refuse("end")
    return RunEnd(value)


def _row(ts: Any, row_of: Mapping[int, int]) -> int:
    row = row_of.get(_whole(ts, "stamp", low=-_MAX_COUNT))
    if row is None:
        _refuse("a stamp that is no bar's")
    return row


def _list(value: Any, name: str) -> list[Any]:
    if type(value) is not list or len(value) > _MAX_ITEMS:
        _refuse(name)
    return value


def _items(value: Any, width: int, name: str) -> list[list[Any]]:
    items = _list(value, name)
    if any(type(item) is not list or len(item) != width for item in items):
        _refuse(name)
    return items


def _whole(value: Any, name: str, *, low: int = 0) -> int:
    if type(value) is not int or not low <= value <= _MAX_COUNT:
        _refuse(name)
    return value


def _number(value: Any, name: str) -> float:
    if type(value) is not float or not math.isfinite(value):
        _refuse(name)
    return value


def _text(value: Any, length: int, name: str) -> str:
    if type(value) is not str or len(value) > length or not value.isprintable():
        _refuse(name)
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        _refuse("flag")
    return value
