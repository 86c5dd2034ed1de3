"""A claimed run, done again: a child reports what was asked for, and the books are made here.

The order log of a run holds every request with every digit. It is fed, row by row and without the strategy, to the
same session, venue and books as in the child (``runtime.kernel.logged``), so that fills, costs, trades, refusals and
the equity curve are figures of this process. A child can forge its requests and nothing else; what it says that its own
books came to must be the same, or the two have not run the same thing.

What this cannot prove: that the strategy would have asked for this without seeing the future. The proof run is for that.
"""

from __future__ import annotations

import hashlib
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from runtime.kernel.logged import Course, LoggedHost
from runtime.kernel.report import RunEnd
from runtime.kernel.session import RunLimits, Session
from runtime.model import Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.kernel.report import RunConfig, RunReport
    from runtime.market.bars import Bars
    from runtime.model import Bar

_BUY = Side.BUY

# An account beyond this many times its starting cash, either way, is no result: ratios of it round to nothing.
_MOST = 1e15


class ReportError(Exception):
    """Bytes that claim to be a report are not one, or claim what the bars do not allow. Treat the run as broken."""


class ReportClaim(NamedTuple):
    """A report as sent: well-formed, not believed yet."""

    course: Course
    refused_count: int
    books: str
    """``books_digest`` of the child's own report."""


def books_digest(report: RunReport) -> str:
    """Hex sha256 of all that came of the orders: fills, refusals, trades, positions and equity, bit for bit."""
    digest = hashlib.sha256(
        f"books/2 {report.refused_count} {report.open_orders} {report.ruined} {len(report.fills)}".encode()
    )
    fills = [(fill.ts.timestamp(), fill.side is _BUY, fill.quantity, fill.price, fill.fee) for fill in report.fills]
    for array in (np.array(fills, dtype=np.float64), report.position, report.equity):
        digest.update(array.astype("<f8").tobytes())
    return digest.hexdigest()


def audited(
    claim: ReportClaim,
    bars: Bars,
    config: RunConfig,
    *,
    rows: Sequence[Bar] | None = None,
    limits: RunLimits | None = None,
) -> RunReport:
    """The report of the claimed run, made here.

    Args:
        claim: what a child sent.
        bars: the bars of the run, from us.
        config: its configuration, from us.
        rows: ``bars.rows()``, when the caller has them already; making them costs more than the rest.
        limits: the caps of the run.

    Raises:
        ReportError: names the first thing that does not come out as claimed.
    """
    _check_rows(claim.course, bars, config)
    rows, limits = bars.rows() if rows is None else rows, limits or RunLimits()
    report = _done_again(claim.course, bars, config, rows, limits)
    early = claim.refused_count - report.refused_count
    if 0 < early <= limits.orders_per_run:
        report = _done_again(claim.course._replace(early_orders=early), bars, config, rows, limits)
    _check_same(claim, report)
    if not np.isfinite(report.equity).all() or float(np.abs(report.equity).max()) > _MOST * config.cash:
        _refuse("an equity that is no result")
    return report


def _refuse(message: str) -> NoReturn:
    raise ReportError(message)


def _check_rows(course: Course, bars: Bars, config: RunConfig) -> None:
    first, last, n = course.first_tradable_bar, course.last_row, len(bars)
    asked = [entry.row for entry in course.order_log]
    if first is not None and not config.start <= first < n:
        _refuse(f"first tradable bar {first} is outside {config.start}..{n - 1}")
    if first is None and asked:
        _refuse("orders without a tradable bar")
    if last is not None and not (first or 0) <= last < n:
        _refuse(f"last row {last} is outside {first or 0}..{n - 1}")
    if any(a > b for a, b in pairwise(asked)):
        _refuse("order log out of order")
    if asked and (first is None or last is None or not first <= asked[0] <= asked[-1] <= last):
        _refuse("an order before the first tradable bar or after the last row")
    if (course.failure is not None) is not (course.end is RunEnd.FAILED):
        _refuse("a failure goes with a failed run, and only with one")


def _done_again(course: Course, bars: Bars, config: RunConfig, rows: Sequence[Bar], limits: RunLimits) -> RunReport:
    try:
        host = LoggedHost(course)
    except ValueError:
        raise ReportError("an order log with a line that is no request") from None
    session = Session(host, config, bars.instrument, limits)
    if session.start() is not None:
        first = len(rows) if course.first_tradable_bar is None else course.first_tradable_bar
        session.skip(rows[:first])
        session.advance(rows[first:], ())
    return session.finish(bars.close)


def _check_same(claim: ReportClaim, report: RunReport) -> None:
    course = claim.course
    for mine, theirs in zip_longest(report.order_log, course.order_log):
        if mine != theirs:
            row = (theirs or mine).row
            _refuse(f"order log at row {row}: a line that no run writes there")
    for name, value, claimed in (
        ("end", report.end, course.end),
        ("failure", report.failure, course.failure),
        ("first tradable bar", report.first_tradable_bar, course.first_tradable_bar),
        ("last row", report.last_row, course.last_row),
        ("refused count", report.refused_count, claim.refused_count),
        ("books", books_digest(report), claim.books),
    ):
        if value != claimed:
            _refuse(f"{name} does not follow from the orders")
