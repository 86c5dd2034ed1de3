"""Promotion: one counted look at the vault for one entry, asked for by one person.

The order is what makes a look count. First everything that can be refused without looking is refused. Then the vault
and the cage are opened; if that fails, nothing is spent. Then the look is written down and charged, synced to disk.
Only then does the source run. The result, the decision and the entry's new status are written in one transaction
before anybody is told. A process that dies in between leaves a charged look without a result: asking for the promotion
again takes up that same look, on the same bars, and costs nothing more, since nobody has seen anything yet.

A failed look says no more than that it failed: figures of the vault, once seen, would steer the next night.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlmodel import col

from evolution.plural import plural
from evolution.pool import decisions
from evolution.pool.entry import DecisionKind, EntryStatus, PoolEntry, entry_id
from evolution.pool.looks import NoBudget, begin_look, cells_of_look, later_cells, plan_look, read_looks, settle_look
from evolution.pool.segment import Runner, SegmentFailure, SegmentFigures, prove_segment
from evolution.tables import DecisionRow, PoolEntryRow
from runtime.store import reading, writing

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from evolution.pool.entry import Binding, Decision
    from evolution.pool.looks import Look, LookPolicy
    from evolution.pool.people import Authority
    from evolution.pool.segment import Segment
    from runtime.kernel.report import RunConfig
    from runtime.market import Bars, Cell, Vault

VaultOpener = Callable[[], "Vault"]
"""Opens the vault of the entry's data set. Handed in, so that nothing in the search can reach one."""
RunnerOpener = Callable[[Mapping[str, "Bars"]], AbstractContextManager[Runner]]
"""Opens a runner for these bars, and closes it afterwards. A look is a proof run: no cage needs to hold them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The entry passed its look; the decision stands in the log."""

    entry: PoolEntry
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class LookFailed:
    """The entry failed its look and is declined; the decision stands in the log."""

    entry: PoolEntry
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionRefused:
    """There was no result: nothing was looked at, or the look was stopped and waits to be taken up."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A promoted entry held on bars that came after its look; the decision stands in the log."""

    entry: PoolEntry
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Faded:
    """A promoted entry did not hold on newer bars and is retired; the decision stands in the log."""

    entry: PoolEntry
    decision: Decision


Promotion = Promoted | LookFailed | PromotionRefused
Rescore = Held | Faded | PromotionRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who asks for a look, why, and on which terms."""

    authority: Authority
    reason: str
    policy: LookPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class LookContext:
    """What a look is bound to, and how it is taken."""

    binding: Binding
    """Data, configuration and engine as they are now; they must be those of the entry's admission."""
    config: RunConfig
    """How to run it: the configuration behind ``binding.config_hash``."""
    open_vault: VaultOpener
    open_runner: RunnerOpener


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A charged look and its cells."""

    look: Look
    cells: tuple[Cell, ...]


def promote(
    engine: Engine,
    entry: PoolEntry,
    request: Request,
    context: LookContext,
    *,
    now: Callable[[], datetime],
) -> Promotion:
    """Promote an entry if its one look at the vault allows it.

    Args:
        engine: The store.
        entry: What to promote.
        request: Who asks and why, checked before; and what a look costs and asks for.
        context: What the look is bound to, and how it is taken.
        now: The clock.
    """
    refusal = _refusal(entry, context.binding, EntryStatus.CANDIDATE, "a candidate can be promoted")
    if refusal is not None:
        return refusal
    taken = _take(engine, entry, request, _begin, context, now=now)
    if isinstance(taken, PromotionRefused):
        return taken
    passed = is_passed(taken.segment, alpha=taken.look.alpha, max_drawdown=request.policy.max_drawdown)
    kind = DecisionKind.PROMOTED if passed else DecisionKind.FAILED_LOOK
    with writing(engine, durable=True) as session:
        settled = _settle(session, entry, taken, kind, request, now())
    if isinstance(settled, PromotionRefused):
        return settled
    after = replace(entry, status=kind.status)
    return Promoted(entry=after, decision=settled) if passed else LookFailed(entry=after, decision=settled)


def obstacle(
    engine: Engine, entry: PoolEntry, *, binding: Binding, policy: LookPolicy, open_vault: VaultOpener
) -> PromotionRefused | None:
    """Why a promotion would be refused as things stand, found out without a look; None when it would be taken.

    For asking nobody for a passphrase, and enrolling nobody, for what cannot be. The promotion itself asks again.
    """
    refusal = _refusal(entry, binding, EntryStatus.CANDIDATE, "a candidate can be promoted")
    if refusal is not None:
        return refusal
    vault = open_vault()
    with reading(engine) as session:
        earlier = _promoted_before(session, entry)
        looks = read_looks(session)
    if earlier is not None:
        return PromotionRefused(reason=_same_source(earlier))
    pending = next((look for look in looks if look.entry == entry.number), None)
    if pending is not None:
        return None if _may_go_on(vault, pending) else PromotionRefused(reason=_looked_at(entry, pending))
    plan = plan_look(vault.bars, vault.cells, looks, policy)
    return PromotionRefused(reason=plan.reason) if isinstance(plan, NoBudget) else None


def rescore(
    engine: Engine,
    entry: PoolEntry,
    request: Request,
    context: LookContext,
    *,
    now: Callable[[], datetime],
) -> Rescore:
    """Look at a promoted entry again, on the vault's bars that came after its last look; it is retired if it does not hold.

    Those bars are vault bars like any others, so this is a counted look and costs one. What is asked is not the proof of a
    promotion again, which a year of bars can rarely give, but that nothing speaks against it: an active Sharpe ratio above 0 and
    a drawdown within its limit. Arguments as for ``promote``.
    """
    refusal = _refusal(entry, context.binding, EntryStatus.PROMOTED, "what is promoted can be scored again")
    if refusal is not None:
        return refusal
    taken = _take(engine, entry, request, _begin_again, context, now=now)
    if isinstance(taken, PromotionRefused):
        return taken
    holds = has_held(taken.segment, max_drawdown=request.policy.max_drawdown)
    kind = DecisionKind.RESCORED if holds else DecisionKind.FAILED_RESCORE
    with writing(engine, durable=True) as session:
        settled = _settle(session, entry, taken, kind, request, now())
    if isinstance(settled, PromotionRefused):
        return settled
    after = replace(entry, status=kind.status)
    return Held(entry=after, decision=settled) if holds else Faded(entry=after, decision=settled)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """A look that ran to its end; nobody has been told."""

    look: Look
    segment: Segment


def _take(  # noqa: PLR0913 - a look is bound to all of this
    engine: Engine,
    entry: PoolEntry,
    request: Request,
    begin: Callable[[Session, PoolEntry, Vault, Request, datetime], _Begun | PromotionRefused],
    context: LookContext,
    *,
    now: Callable[[], datetime],
) -> _Taken | PromotionRefused:
    """Open, charge, run: in that order."""
    vault = context.open_vault()
    with context.open_runner(vault.bars) as runner:
        with writing(engine, durable=True) as session:
            begun = begin(session, entry, vault, request, now())
        if isinstance(begun, PromotionRefused):
            return begun
        segment = prove_segment(runner, entry.source, vault.bars, begun.cells, context.config)
    if isinstance(segment, SegmentFailure) and not segment.is_repeatable:
        return PromotionRefused(
            reason=f"the run on the vault was stopped ({segment.reason}); look {begun.look.number} is charged, and "
            "asking again takes it up at no further cost"
        )
    return _Taken(look=begun.look, segment=segment)


def _refusal(entry: PoolEntry, binding: Binding, needed: EntryStatus, rule: str) -> PromotionRefused | None:
    if entry.status is not needed:
        return PromotionRefused(reason=f"entry {entry.id} is {entry.status.value}; only {rule}")
    difference = entry.binding.difference(binding)
    if difference is not None:
        return PromotionRefused(
            reason=f"entry {entry.id} was admitted under other conditions: {difference}; its admission says nothing "
            "about these, so let a run with them admit it again"
        )
    return None


def _begin(
    session: Session, entry: PoolEntry, vault: Vault, request: Request, at: datetime
) -> _Begun | PromotionRefused:
    """Charge a look, or take up the one that was charged for this entry and never settled."""
    row = session.get_one(PoolEntryRow, entry.number)
    if row.status != EntryStatus.CANDIDATE.value:
        return PromotionRefused(reason=f"entry {entry.id} is {row.status} by now; only a candidate can be promoted")
    earlier = _promoted_before(session, entry)
    if earlier is not None:
        return PromotionRefused(reason=_same_source(earlier))
    looks = read_looks(session)
    pending = next((look for look in looks if look.entry == entry.number), None)
    if pending is not None:
        cells = cells_of_look(vault.bars, vault.cells, pending)
        if pending.passed is None and cells is not None:
            return _Begun(look=pending, cells=cells)
        return PromotionRefused(reason=_looked_at(entry, pending))
    return _charge(session, row, vault, vault.cells, looks, request, at)


def _may_go_on(vault: Vault, pending: Look) -> bool:
    return pending.passed is None and cells_of_look(vault.bars, vault.cells, pending) is not None


def _same_source(number: int) -> str:
    return f"the same source was promoted before, as entry {entry_id(number)}"


def _looked_at(entry: PoolEntry, look: Look) -> str:
    return f"entry {entry.id} has had its look at the vault (look {look.number} of {look.at:%Y-%m-%d}), and there is one per entry"


def _begin_again(
    session: Session, entry: PoolEntry, vault: Vault, request: Request, at: datetime
) -> _Begun | PromotionRefused:
    """Charge a look at bars later than the entry's last one, or take up the one that was charged and never settled."""
    row = session.get_one(PoolEntryRow, entry.number)
    if row.status != EntryStatus.PROMOTED.value:
        return PromotionRefused(
            reason=f"entry {entry.id} is {row.status} by now; only what is promoted can be scored again"
        )
    looks = read_looks(session)
    last = [look for look in looks if look.entry == entry.number][-1]
    if last.passed is None:
        cells = cells_of_look(vault.bars, vault.cells, last)
        if cells is None:
            return PromotionRefused(reason=f"look {last.number} at {entry.id} was cut short, and its bars are gone")
        return _Begun(look=last, cells=cells)
    newer = later_cells(vault.bars, vault.cells, max(interval.end for interval in last.intervals))
    fewest = min(cell.stop - cell.start for cell in newer)
    if fewest < request.policy.min_bars:
        return PromotionRefused(
            reason=f"{plural(fewest, 'bar has', 'bars have')} come since the last look at {entry.id}, and {request.policy.min_bars} are needed"
        )
    return _charge(session, row, vault, newer, looks, request, at)


def _charge(  # noqa: PLR0913, PLR0917 - a look is bound to all of this
    session: Session,
    row: PoolEntryRow,
    vault: Vault,
    cells: Sequence[Cell],
    looks: Sequence[Look],
    request: Request,
    at: datetime,
) -> _Begun | PromotionRefused:
    plan = plan_look(vault.bars, cells, looks, request.policy)
    if isinstance(plan, NoBudget):
        return PromotionRefused(reason=plan.reason)
    look = begin_look(session, row, vault, plan, alpha=request.policy.alpha, by=request.authority.name, at=at)
    return _Begun(look=look, cells=plan)


def _promoted_before(session: Session, entry: PoolEntry) -> int | None:
    query = select(col(DecisionRow.entry)).where(
        col(DecisionRow.source_sha256) == entry.source.sha256,
        col(DecisionRow.decision) == DecisionKind.PROMOTED.value,
    )
    return session.scalars(query.limit(1)).first()


def _settle(  # noqa: PLR0913, PLR0917 - a result, and who asked for it
    session: Session, entry: PoolEntry, taken: _Taken, kind: DecisionKind, request: Request, at: datetime
) -> Decision | PromotionRefused:
    row, look = session.get_one(PoolEntryRow, entry.number), taken.look
    if row.status != entry.status.value:
        return PromotionRefused(reason=f"entry {entry.id} became {row.status} while its look was taken")
    passed = kind in {DecisionKind.PROMOTED, DecisionKind.RESCORED}
    if not settle_look(session, look, passed=passed, figures=asdict(taken.segment), at=at):
        return PromotionRefused(reason=f"look {look.number} was settled by another process at the same time")
    return decisions.append(
        session, row, kind, reason=request.reason, at=at, authority=request.authority, look=look.number
    )


def is_passed(segment: Segment, *, alpha: float, max_drawdown: float) -> bool:
    """The test: probability of a positive active Sharpe ratio above 1 - alpha, and drawdown within its limit.

    A source that fails on the vault's bars, or whose figures are undefined there, does not pass.
    """
    return (
        isinstance(segment, SegmentFigures)
        and segment.psr is not None
        and segment.psr > 1.0 - alpha
        and segment.max_drawdown <= max_drawdown
    )


def has_held(segment: Segment, *, max_drawdown: float) -> bool:
    """The test of a re-score: an active Sharpe ratio above 0, and drawdown within its limit."""
    return (
        isinstance(segment, SegmentFigures)
        and segment.active_sharpe is not None
        and segment.active_sharpe > 0.0
        and segment.max_drawdown <= max_drawdown
    )
