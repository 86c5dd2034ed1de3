"""The tables with which several processes work on one run (``evolution.leases``, ``evolution.workboard``).

What is in here is gone when the run is over: the trials stay.
"""

# No postponed annotations here: SQLModel reads them while each class is made.

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, LargeBinary
from sqlmodel import Field, SQLModel

from evolution.tables import Document, UtcDateTime


class RunLeaseRow(SQLModel, table=True):
    """Who leads a run: breeds, selects, admits."""

    __tablename__ = "run_lease"

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    holder: str
    token: int = Field(sa_type=BigInteger)
    expires: datetime = Field(sa_type=UtcDateTime)


class SharedRunRow(SQLModel, table=True):
    """What a process needs to try candidates of a run: the bars of train, and nothing later."""

    __tablename__ = "shared_run"

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    code: str
    bench_sha256: str
    bench: bytes = Field(sa_type=LargeBinary)


class SharedCandidateRow(SQLModel, table=True):
    """A candidate that waits for somebody to try it, or that somebody is trying."""

    __tablename__ = "shared_candidate"

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    candidate_id: str = Field(primary_key=True)
    generation: int
    index: int
    language: str
    data: bytes = Field(sa_type=LargeBinary)
    origin: dict[str, Any] = Field(sa_type=Document)
    is_full: bool
    holder: str | None = None
    expires: datetime | None = Field(default=None, sa_type=UtcDateTime)
    is_done: bool = False
