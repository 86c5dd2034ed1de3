"""Locks: where nothing may be opened until a moment, and why. Closing is never locked.

A lock is as wide as its fields are empty: an account, a market (timeframe and calendar do not matter) in it, a symbol, one side of it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlmodel import col

from runtime.paper.canon import moment, stamp
from runtime.paper.tables import LockRow

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.orm import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """One lock."""

    account: str
    until: datetime
    rule: str
    reason: str
    market: str | None = None
    """None locks all markets of the account."""
    symbol: str | None = None
    """None locks all symbols."""
    side: str | None = None
    """``buy`` or ``sell``; None locks both."""

    def holds(self, *, market: str, symbol: str, side: str, at: datetime) -> bool:
        """Whether it keeps an order of this account from being opened."""
        wanted = ((self.market, market), (self.symbol, symbol), (self.side, side))
        return at < self.until and all(mine is None or mine == theirs for mine, theirs in wanted)

    def row(self) -> LockRow:
        """For the store."""
        return LockRow(id=secrets.token_hex(8), **self.story())

    def story(self) -> dict[str, Any]:
        """For records."""
        return {
            "account": self.account,
            "market": self.market,
            "symbol": self.symbol,
            "side": self.side,
            "until": stamp(self.until),
            "rule": self.rule,
            "reason": self.reason,
        }


def read_locks(session: Session, account: str, at: datetime) -> tuple[Lock, ...]:
    """The locks of an account that hold at a moment, the widest first."""
    rows = session.scalars(select(LockRow).where(col(LockRow.account) == account, col(LockRow.until) > stamp(at)))
    locks = [
        Lock(
            account=row.account,
            market=row.market,
            symbol=row.symbol,
            side=row.side,
            until=moment(row.until),
            rule=row.rule,
            reason=row.reason,
        )
        for row in rows
    ]
    return tuple(sorted(locks, key=lambda lock: [lock.market is not None, lock.symbol is not None, lock.side or ""]))
