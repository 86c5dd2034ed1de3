"""A report as bytes and back: plain JSON. No pickle, nothing that runs code.

Only what a strategy did goes over the wire: its requests, its log, how and where it ended. What came of the requests is
not sent but made again by whoever reads them (``runtime.kernel.audit``), and compared by a digest.

``decode_report`` is written against a hostile sender. It takes the bars and the configuration of the run from the
caller, never from the bytes.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

from runtime.desk import MAX_TAG
from runtime.kernel.audit import ReportClaim, ReportError, audited, books_digest
from runtime.kernel.logged import Course
from runtime.kernel.report import Failure, OrderEntry, RunEnd
from runtime.kernel.session import RunLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.kernel.report import RunConfig, RunReport
    from runtime.market.bars import Bars
    from runtime.model import Bar

__all__ = ["ReportError", "decode_report", "encode_report"]

_MAGIC = b"TRR2"

# A child pays nothing to write orders down, and doing them again costs the reader 10 to 40 microseconds each: so many are read,
# whatever the strategy would be allowed. A run of 2,500 bars has the whole of ``RunLimits.orders_per_run``.
_FIRST_ORDERS = 1_000
_ORDERS_PER_BAR = 20

# JSON writes a character in at most twelve bytes; a request without its tag is shorter than this.
_BYTES_PER_CHARACTER = 12
_BYTES_PER_ORDER = 512
_OTHER_BYTES = 16 * 1024
_MAX_LOG_LINES = 1000
_MAX_COUNT = 2**53

_HOOKS = frozenset({"load", "__init__", "on_start", "on_bar", "on_fill", "on_stop"})
_KEYS = frozenset({"end", "failure", "first_tradable_bar", "last_row", "refused_count", "order_log", "log", "books"})


def encode_report(report: RunReport) -> bytes:
    """Bytes of a report, for ``decode_report``."""
    fields = {
        "end": report.end.value,
        "failure": None if report.failure is None else asdict(report.failure),
        "first_tradable_bar": report.first_tradable_bar,
        "last_row": report.last_row,
        "refused_count": report.refused_count,
        "order_log": [[entry.row, entry.action] for entry in report.order_log],
        "log": list(report.log),
        "books": books_digest(report),
    }
    return _MAGIC + json.dumps(fields, allow_nan=False, separators=(",", ":")).encode("ascii")


def decode_report(
    data: bytes,
    bars: Bars,
    config: RunConfig,
    *,
    rows: Sequence[Bar] | None = None,
    limits: RunLimits | None = None,
) -> RunReport:
    """The report in ``data``, if it is one: every figure in it is made here, from its requests and the bars.

    Args:
        data: what a child sent.
        bars: the bars of the run, from us.
        config: the configuration of the run, from us.
        rows: ``bars.rows()``, when the caller has them already.
        limits: the caps of the run, from us.

    Raises:
        ReportError: anything is off; names the first thing. Nothing else is raised, whatever the bytes.
    """
    if not data.startswith(_MAGIC):
        _refuse("not a report")
    limits = limits or RunLimits()
    most_orders = readable_orders(len(bars) - config.start, limits)
    _check_size(data, most_orders, limits)
    return audited(_claim(_parse(data[len(_MAGIC) :]), most_orders), bars, config, rows=rows, limits=limits)


def readable_orders(bars: int, limits: RunLimits) -> int:
    """How many orders of a run over so many tradable bars are read at all; a report with more is refused."""
    return min(limits.orders_per_run, _FIRST_ORDERS + _ORDERS_PER_BAR * max(bars, 0))


def _check_size(data: bytes, most_orders: int, limits: RunLimits) -> None:
    """Refuse what costs more to parse than an honest report, before it is parsed."""
    characters = limits.log_lines * limits.log_chars + most_orders * MAX_TAG
    if len(data) > _OTHER_BYTES + _BYTES_PER_CHARACTER * characters + _BYTES_PER_ORDER * most_orders:
        _refuse(f"a report of {len(data)} bytes")
    # Lists and objects are what takes long. An honest report has one for each order and a few more; the others are in its texts.
    if data.count(b"[") + data.count(b"{") > _OTHER_BYTES + characters + most_orders:
        _refuse("more lists than a report has")


def _refuse(message: str) -> NoReturn:
    raise ReportError(message)


def _parse(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("ascii"), parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError):
        # ValueError covers bad JSON, bytes that are not ASCII, and whole numbers too long to read.
        raise ReportError("it is not plain JSON") from None
    if type(header) is not dict or header.keys() != _KEYS:
        _refuse("it has other keys than a report")
    return header


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _claim(header: dict[str, Any], most_orders: int) -> ReportClaim:
    orders = header["order_log"]
    if type(orders) is list and len(orders) > most_orders:
        _refuse(
            f"{len(orders)} orders, and of a run this long at most {most_orders} are read "
            f"({_FIRST_ORDERS} and {_ORDERS_PER_BAR} a bar)"
        )
    course = Course(
        end=_end(header["end"]),
        failure=_failure(header["failure"]),
        first_tradable_bar=_row(header["first_tradable_bar"], "first_tradable_bar"),
        last_row=_row(header["last_row"], "last_row"),
        order_log=tuple(_entry(item) for item in _list(orders, most_orders, "order_log")),
        log=tuple(_text(line, 10_000, "log line") for line in _list(header["log"], _MAX_LOG_LINES, "log")),
    )
    return ReportClaim(course, _whole(header["refused_count"], "refused_count"), _text(header["books"], 64, "books"))


def _entry(item: Any) -> OrderEntry:
    if type(item) is not list or len(item) != 2:
        _refuse("a line of the order log")
    return OrderEntry(row=_whole(item[0], "row"), action=_text(item[1], 1000, "action"))


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


def _row(value: Any, name: str) -> int | None:
    return None if value is None else _whole(value, name)


def _list(value: Any, most: int, name: str) -> list[Any]:
    if type(value) is not list or len(value) > most:
        _refuse(name)
    return value


def _whole(value: Any, name: str) -> int:
    if type(value) is not int or not 0 <= value <= _MAX_COUNT:
        _refuse(name)
    return value


def _text(value: Any, length: int, name: str) -> str:
    if type(value) is not str or len(value) > length or not value.isprintable():
        _refuse(name)
    return value
