"""Resuming: the run again from its beginning, with what was stored, to exactly where it was.

The strategy gets every stored bar again, from its warm-up on, so its private state is what it was. It must ask for what is stored; the
stored verdicts of guards and people are used, not made again. Then cash, position, waiting orders and fills must be the stored ones,
bit for bit. If anything is not, the run stops and the first difference is named: it never trades on from somewhere else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select
from sqlmodel import col

from runtime.kernel.logged import read_request
from runtime.kernel.tickets import canonical
from runtime.model import Bar, Fill, Side
from runtime.paper.canon import encode, sha256
from runtime.paper.driver import Added, Screened
from runtime.paper.feed import bar_sha256
from runtime.paper.journal import asked_document
from runtime.paper.tables import BarRow, FillRow, RunRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.orm import Session

    from runtime.paper.driver import Driver, Scene, Step


class Drift(Exception):  # noqa: N818  # what a replay came to; the run is stopped for it
    """A replay left what is stored; the text names bar and difference."""


class StoredBar(NamedTuple):
    """A bar with what was asked for on it."""

    bar: Bar
    asked: list[list[Any]]
    """``runtime.paper.journal.asked_document``."""
    state_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """All that a run depends on."""

    warm: tuple[Bar, ...]
    bars: tuple[StoredBar, ...]
    fills: tuple[Fill, ...]
    state: str

    @property
    def last(self) -> int:
        """Open of the newest bar, seconds since 1970 UTC."""
        return int((self.bars[-1].bar if self.bars else self.warm[-1]).ts.timestamp())

    def hashes(self, newest: int) -> dict[int, str]:
        """Hash of each of the newest bars, by open."""
        rows = (*self.warm, *(each.bar for each in self.bars))[-newest:]
        return {int(bar.ts.timestamp()): bar_sha256(bar) for bar in rows}


def read_run(session: Session, run: str) -> StoredRun:
    """A run as it is stored.

    Raises:
        Drift: the bars' chain of hashes does not lead to the run's: they were changed; or a row holds what no run writes.
    """
    row = session.get_one(RunRow, run)
    rows = session.scalars(select(BarRow).where(col(BarRow.run) == run).order_by(col(BarRow.bar))).all()
    chain = ""
    for number, each in enumerate(rows):
        values = [each.ts, each.open, each.high, each.low, each.close, each.volume]
        chain = sha256(chain + encode([*values, each.asked, each.state_sha256]))
        if each.bar != number or each.chain != chain:
            raise Drift(f"bar {number} of run {run} is not as it was stored")
    if chain != row.chain or len(rows) != row.bars:
        raise Drift(f"run {run} took {row.bars} bars, and the {len(rows)} that are stored do not lead to its end")
    if not 0 <= row.warm <= len(rows):
        raise Drift(f"run {run} took {len(rows)} bars, and {row.warm} of them cannot be from before it")
    fills = session.scalars(select(FillRow).where(col(FillRow.run) == run).order_by(col(FillRow.number))).all()
    try:
        stored = [StoredBar(_bar(each), json.loads(each.asked), each.state_sha256) for each in rows]
        filled = tuple(map(_fill, fills))
    except (ValueError, TypeError, OverflowError, OSError) as error:  # a moment can be out of any calendar
        raise Drift(f"run {run}: a bar or fill is not as it was stored ({error})") from error
    return StoredRun(
        warm=tuple(each.bar for each in stored[: row.warm]),
        bars=tuple(stored[row.warm :]),
        fills=filled,
        state=row.state,
    )


def replay(driver: Driver, stored: StoredRun, watch: Callable[[Step], object] = lambda _: None) -> None:
    """Bring a driver that was not started to where the stored run is.

    Args:
        driver: not started.
        stored: where to.
        watch: told after each bar, the driver standing there.

    Raises:
        Drift: it came somewhere else.
    """
    driver.start(stored.warm, [each.bar for each in stored.bars])
    fills: list[Fill] = []
    for each in stored.bars:
        step = driver.take(each.bar, _Recorded(each))
        where = f"on the bar of {each.bar.ts:%Y-%m-%dT%H:%MZ}"
        if driver.end is not None:
            why = driver.failure.message if driver.failure else driver.end.value
            raise Drift(f"the strategy ends {where} and did not before: {why}")
        if asked_document(step.asked) != each.asked:
            raise Drift(f"{where} the strategy asked otherwise before")
        if sha256(step.state) != each.state_sha256:
            raise Drift(f"{where} the books come to something else than before")
        fills += step.fills
        watch(step)
    if driver.state() != stored.state:
        raise Drift(f"the books are {driver.state()} and were {stored.state}")
    if tuple(fills) != stored.fills:
        raise Drift(f"the replay has {len(fills)} fills that are not the {len(stored.fills)} stored ones")


class _Recorded:
    """The verdicts of a stored bar. Implements ``Screen``."""

    def __init__(self, stored: StoredBar) -> None:
        self._stored = stored

    def judge(self, scene: Scene) -> Screened:
        own = [each for each in self._stored.asked if each[2] is None]
        if [canonical(request) for request in scene.requests] != [each[0] for each in own]:
            raise Drift(f"on the bar of {scene.bar.ts:%Y-%m-%dT%H:%MZ} the strategy asked otherwise before")
        return Screened(
            [None if refused is None else (rule, refused) for _, _, _, refused, rule in own],
            [
                Added(plan, read_request(text), None if refused is None else (rule, refused))
                for text, _, plan, refused, rule in self._stored.asked
                if plan is not None
            ],
        )


def _bar(row: BarRow) -> Bar:
    return Bar(datetime.fromtimestamp(row.ts, UTC), row.open, row.high, row.low, row.close, row.volume)


def _fill(row: FillRow) -> Fill:
    return Fill(
        ts=datetime.fromtimestamp(row.ts, UTC),
        side=Side(row.side),
        quantity=row.quantity,
        price=row.price,
        fee=row.fee,
        tag=row.tag,
        order_id=row.order,
    )
