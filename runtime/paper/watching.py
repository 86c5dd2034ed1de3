"""What a person sees of a run: where it stands, what a day brought, and whether it does what its evidence promised."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import func, select
from sqlmodel import col

from runtime.paper.audit import read_head
from runtime.paper.canon import moment, stamp
from runtime.paper.locks import read_locks
from runtime.paper.tables import BarRow, DecisionRow, FillRow, LeaseRow, LedgerRow, RunRow
from runtime.store import reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from runtime.paper.audit import Auditor
    from runtime.paper.deployment import Deployment
    from runtime.paper.feed import Market
    from runtime.paper.locks import Lock

# With fewer returns nothing can be told from luck.
_FEWEST_RETURNS = 30
# One-sided, 1%: an alarm a day on a strategy that does what it should comes about three times a year.
_ALARM_Z = -2.326


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """What happened, beside what the evidence lets one expect."""

    returns: int
    """Bars with a return."""
    total_return: float
    max_drawdown: float
    sharpe: float | None
    """Annualised; None with fewer than 30 returns, or without any spread."""
    expected_sharpe: float | None
    z: float | None
    """How many standard errors the Sharpe ratio is from the expected one; None where either is."""
    alarm: str | None
    """Why somebody should look; None when nothing speaks against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where a run stands."""

    equity: float | None
    cash: float | None
    position: float
    last_bar: datetime | None
    next_bar: datetime | None
    """When the next bar is to be expected closed."""
    lag_s: float | None
    """From the close of the last bar to when it was taken."""
    fills: int
    decisions: int
    holder: str | None
    """Who runs it now; None when nobody does."""
    locks: tuple[Lock, ...]
    forward: Forward


def status_of(  # noqa: PLR0913 - a run, and how to read it
    engine: Engine, run: str, deployment: Deployment, market: Market, at: datetime, *, is_live: bool = True
) -> Status:
    """Where a run stands now. History has no lag: ``is_live`` says whether bars come as they close."""
    with reading(engine) as session:
        row = session.get_one(RunRow, run)
        last = session.get(BarRow, (run, row.bars - 1)) if row.bars else None
        lease = session.get(LeaseRow, run)
        state: dict[str, Any] = json.loads(row.state) if row.state else {}
        cash, position = state.get("cash"), state.get("position", 0.0)
        ended = None if last is None else market.end(last.ts)
        instrument = deployment.instrument(row.symbol)
        return Status(
            equity=None if last is None or cash is None else cash + position * last.close,
            cash=cash,
            position=position,
            last_bar=None if last is None else datetime.fromtimestamp(last.ts, UTC),
            next_bar=None if last is None else datetime.fromtimestamp(market.end(market.next_open(last.ts)), UTC),
            lag_s=moment(last.taken).timestamp() - ended
            if last is not None and ended is not None and is_live
            else None,
            fills=_count(session, FillRow.run, run),
            decisions=_count(session, DecisionRow.run, run),
            holder=lease.holder if lease is not None and lease.expires > stamp(at) else None,
            locks=read_locks(session, row.account, at),
            forward=_forward(
                _equity(session, run, row.warm, deployment.config.cash),
                deployment,
                1.0 if instrument is None else instrument.bars_per_year,
            ),
        )


def held_runs(engine: Engine, at: datetime) -> frozenset[str]:
    """Runs that somebody runs now."""
    with reading(engine) as session:
        return frozenset(session.scalars(select(col(LeaseRow.run)).where(col(LeaseRow.expires) > stamp(at))))


def _equity(session: Session, run: str, warm: int, cash: float) -> list[float]:
    """Starting cash, then equity at each close of the run."""
    marks = session.execute(
        select(col(LedgerRow.bar), col(LedgerRow.cash), col(LedgerRow.position))
        .where(col(LedgerRow.run) == run)
        .order_by(col(LedgerRow.number))
    ).all()
    bars = session.execute(
        select(col(BarRow.bar), col(BarRow.close))
        .where(col(BarRow.run) == run, col(BarRow.bar) >= warm)
        .order_by(col(BarRow.bar))
    ).all()
    curve, held, position, place = [cash], cash, 0.0, 0
    for number, close in bars:
        while place < len(marks) and marks[place][0] <= number:
            _, held, position = marks[place]
            place += 1
        curve.append(held + position * close)
    return curve


def _forward(curve: Sequence[float], deployment: Deployment, bars_per_year: float) -> Forward:
    equity = np.array(curve)
    returns = np.diff(equity) / equity[:-1] if np.all(equity > 0.0) else np.diff(equity) * math.nan
    peak = np.maximum.accumulate(equity)
    fall = float(np.max(1.0 - equity / peak))
    expected = deployment.expectation
    ratio = _ratio(returns)
    z = None
    if ratio is not None and expected.sharpe is not None:
        # Standard error of a per-bar Sharpe ratio under normal returns: sqrt((1 + sr^2 / 2) / n) (Lo, 2002, equation 9).
        promised = expected.sharpe / math.sqrt(bars_per_year)
        z = (ratio - promised) / math.sqrt((1.0 + promised**2 / 2.0) / len(returns))
    alarm = None
    if z is not None and z < _ALARM_Z:
        alarm = f"the Sharpe ratio is {-z:.1f} standard errors below what the evidence promised"
    elif expected.max_drawdown is not None and fall > max(1.5 * expected.max_drawdown, 0.05):
        alarm = f"the drawdown of {fall:.1%} is far beyond the {expected.max_drawdown:.1%} of the evidence"
    return Forward(
        returns=len(returns),
        total_return=float(equity[-1] / equity[0] - 1.0),
        max_drawdown=fall,
        sharpe=None if ratio is None else ratio * math.sqrt(bars_per_year),
        expected_sharpe=expected.sharpe,
        z=z,
        alarm=alarm,
    )


def _ratio(returns: np.ndarray[Any, Any]) -> float | None:
    """Mean over standard deviation (ddof 1) per bar; flat bars count, as in the backtest."""
    if len(returns) < _FEWEST_RETURNS or not np.all(np.isfinite(returns)):
        return None
    mean, spread = float(np.mean(returns)), float(np.std(returns, ddof=1))
    return mean / spread if spread > 1e-12 * max(abs(mean), 1e-300) else None


def summary_of(engine: Engine, auditor: Auditor, run: str, day: str) -> dict[str, Any]:
    """What one day (UTC, ``2026-11-30``) brought to a run, with the audit log's head: publish it where nobody can change it."""
    start = int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp())
    with reading(engine) as session:
        of_day = (col(DecisionRow.run) == run, col(DecisionRow.ts) >= start, col(DecisionRow.ts) < start + 86_400)
        outcomes = session.execute(
            select(col(DecisionRow.outcome), func.count()).where(*of_day).group_by(col(DecisionRow.outcome))
        ).all()
        fills = session.scalars(
            select(FillRow).where(col(FillRow.run) == run, col(FillRow.ts) >= start, col(FillRow.ts) < start + 86_400)
        ).all()
        bars = session.scalar(
            select(func.count()).where(col(BarRow.run) == run, col(BarRow.ts) >= start, col(BarRow.ts) < start + 86_400)
        )
        head = read_head(session)
    return {
        "run": run,
        "day": day,
        "bars": bars or 0,
        "fills": len(fills),
        "fees": math.fsum(fill.fee for fill in fills),
        "decisions": {str(outcome): int(count) for outcome, count in outcomes},
        "audit_sequence": head.sequence,
        "audit_head": head.hash,
        "audit_key": auditor.key.public_key,
    }


def _count(session: Session, run_column: Any, run: str) -> int:
    return session.scalar(select(func.count()).where(run_column == run)) or 0
