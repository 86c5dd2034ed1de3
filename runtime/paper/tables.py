"""The tables of paper trading. Rows only: the stores beside them take and return values.

What happened is never changed: bars, orders, fills, ledger, audit lines are only added. What moves is a run's state, a plan's and a
decision's outcome, a token's use, the lease and the audit's head, each inside the transaction that explains it. Documents are texts
of ``runtime.paper.canon``, so that what was hashed is what is stored. Stamps are its texts too; ``ts`` is a bar's open in seconds.

A change here needs a revision in ``evolution.migrations``; a test compares the two.
"""

# No postponed annotations here: SQLModel reads them while each class is made.

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, Integer, Text
from sqlmodel import Field, SQLModel

_RUN = (["run"], ["paper_run.id"])


class DeploymentRow(SQLModel, table=True):
    """A signed deployment (``runtime.paper.deployment``)."""

    __tablename__ = "paper_deployment"

    id: str = Field(primary_key=True)
    document: str = Field(sa_type=Text)
    signer: str = Field(sa_type=Text)
    public_key: str
    signature: str
    revoked: str | None = None
    revoked_by: str | None = Field(default=None, sa_type=Text)
    revoked_reason: str | None = Field(default=None, sa_type=Text)


class RunRow(SQLModel, table=True):
    """One paper run, and where it stands."""

    __tablename__ = "paper_run"

    id: str = Field(primary_key=True)
    deployment: str = Field(foreign_key="paper_deployment.id", index=True)
    account: str = Field(index=True)
    symbol: str
    started_by: str = Field(sa_type=Text)
    guards: str | None = Field(default=None, sa_type=Text)
    unguarded_by: str | None = Field(default=None, sa_type=Text)
    feed: str = Field(sa_type=Text)
    status: str
    reason: str = Field(default="", sa_type=Text)
    stop_by: str | None = Field(default=None, sa_type=Text)
    created: str
    finished: str | None = None
    warm: int = 0
    bars: int = 0
    chain: str = ""
    state: str = Field(default="", sa_type=Text)


class BarRow(SQLModel, table=True):
    """A closed bar that a run took, what was asked for on it, and what the books were afterwards."""

    __tablename__ = "paper_bar"
    __table_args__ = (ForeignKeyConstraint(*_RUN),)

    run: str = Field(primary_key=True)
    bar: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    ts: int = Field(sa_type=BigInteger)
    open: float
    high: float
    low: float
    close: float
    volume: float
    asked: str = Field(sa_type=Text)
    state_sha256: str
    chain: str
    taken: str


class PlanRow(SQLModel, table=True):
    """Something that is to be done, and who said that it may."""

    __tablename__ = "paper_plan"
    __table_args__ = (ForeignKeyConstraint(*_RUN),)

    id: str = Field(primary_key=True)
    run: str = Field(index=True)
    bar: int | None = None
    request: str = Field(sa_type=Text)
    reason: str = Field(default="", sa_type=Text)
    maker: str = Field(sa_type=Text)
    maker_kind: str
    created: str
    expires: str
    status: str = Field(index=True)
    checker: str | None = Field(default=None, sa_type=Text)
    checked: str | None = None
    public_key: str | None = None
    signature: str | None = None


class TokenRow(SQLModel, table=True):
    """Leave to execute one plan once, within its time, by the holder of one lease. The secret itself is nowhere."""

    __tablename__ = "paper_token"

    sha256: str = Field(primary_key=True)
    plan: str = Field(foreign_key="paper_plan.id", index=True)
    epoch: int
    expires: str
    used: str | None = None


class OrderRow(SQLModel, table=True):
    """An order that the venue has, numbered as in the run's session."""

    __tablename__ = "paper_order"
    __table_args__ = (ForeignKeyConstraint(*_RUN),)

    run: str = Field(primary_key=True)
    number: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    plan: str = Field(foreign_key="paper_plan.id", unique=True)
    bar: int
    request: str = Field(sa_type=Text)


class FillRow(SQLModel, table=True):
    """A fill, in order."""

    __tablename__ = "paper_fill"
    __table_args__ = (ForeignKeyConstraint(*_RUN),)

    run: str = Field(primary_key=True)
    number: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    bar: int
    ts: int = Field(sa_type=BigInteger)
    side: str
    quantity: float
    price: float
    fee: float
    tag: str = Field(sa_type=Text)
    order: int = Field(sa_column=Column("order_number", Integer, nullable=False))


class LedgerRow(SQLModel, table=True):
    """Cash and position after each change of the books, in order."""

    __tablename__ = "paper_ledger"
    __table_args__ = (ForeignKeyConstraint(*_RUN),)

    run: str = Field(primary_key=True)
    number: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    bar: int
    cash: float
    position: float


class DecisionRow(SQLModel, table=True):
    """One intent and what became of it."""

    __tablename__ = "paper_decision"
    __table_args__ = (ForeignKeyConstraint(*_RUN),)

    run: str = Field(primary_key=True)
    number: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    bar: int
    ts: int = Field(sa_type=BigInteger)
    context: str = Field(sa_type=Text)
    intent: str = Field(sa_type=Text)
    plan: str | None = None
    order: int | None = Field(default=None, sa_column=Column("order_number", Integer))
    outcome: str
    reason: str = Field(default="", sa_type=Text)


class LockRow(SQLModel, table=True):
    """Where nothing may be opened until a moment, and why."""

    __tablename__ = "paper_lock"

    id: str = Field(primary_key=True)
    account: str = Field(index=True)
    market: str | None = None
    symbol: str | None = None
    side: str | None = None
    until: str
    rule: str
    reason: str = Field(sa_type=Text)


class LeaseRow(SQLModel, table=True):
    """Who may act for a run. The epoch grows with each change of hands and fences off whoever held it before."""

    __tablename__ = "paper_lease"
    __table_args__ = (ForeignKeyConstraint(*_RUN),)

    run: str = Field(primary_key=True)
    epoch: int
    holder: str
    expires: str


class AuditRow(SQLModel, table=True):
    """One line of the audit log."""

    __tablename__ = "paper_audit"

    sequence: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    line: str = Field(sa_type=Text)


class AuditHeadRow(SQLModel, table=True):
    """Where the audit log ends: one row."""

    __tablename__ = "paper_audit_head"

    id: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    sequence: int
    hash: str
