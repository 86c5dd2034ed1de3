"""Tokens: leave to execute one approved plan, once, within a time, by one holder of the run's lease.

256 random bits; the store keeps their hash, so a stolen database executes nothing. ``spend`` is called inside the transaction that
books the order, so a token is used exactly when its order exists.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from runtime.paper.canon import stamp
from runtime.paper.tables import TokenRow

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.orm import Session

TOKEN_LIFE = timedelta(seconds=300)
_BYTES = 32


class TokenRefused(Exception):  # noqa: N818  # an outcome inside the order path; the transaction must not commit
    """The token executes nothing; the text says why."""


def issue(session: Session, *, plan: str, epoch: int, at: datetime) -> str:
    """A new token for a plan, in the caller's transaction. The secret is returned and kept nowhere."""
    secret = secrets.token_hex(_BYTES)
    session.add(TokenRow(sha256=_hash(secret), plan=plan, epoch=epoch, expires=stamp(at + TOKEN_LIFE)))
    session.flush()
    return secret


def spend(session: Session, secret: str, *, plan: str, epoch: int, at: datetime) -> None:
    """Use a token up, in the caller's transaction.

    Raises:
        TokenRefused: it is unknown, used, too old, or of another plan or lease.
    """
    row = session.get(TokenRow, _hash(secret))
    if row is None:
        raise TokenRefused("no such token")
    if row.used is not None:
        raise TokenRefused("the token was used before")
    if row.plan != plan:
        raise TokenRefused("the token belongs to another plan")
    if row.epoch != epoch:
        raise TokenRefused("the token belongs to another lease")
    if stamp(at) >= row.expires:
        raise TokenRefused(f"the token was good until {row.expires}")
    row.used = stamp(at)
    session.add(row)
    session.flush()


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
