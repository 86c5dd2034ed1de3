"""The tables of the search and the pool. Rows only: they do not validate, so nothing outside the stores handles them.

``evolution.ledger`` and ``evolution.pool`` take and return domain values and convert both ways. A change here needs a
revision in ``evolution.migrations``; a test compares the two.

Text that a model or a candidate may have written sits in JSON columns: escaped JSON carries any Python string, lone
surrogates and NUL included, through any database.
"""

# No postponed annotations here: SQLModel reads them while each class is made.

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    String,
    TypeDecorator,
    UniqueConstraint,
)
from sqlmodel import Field, SQLModel

Document = JSON(none_as_null=True)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC datetime on every database; SQLite by itself would drop the offset."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - its shape
        """Refuse a naive stamp: nobody knows what it means."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"stamp {value.isoformat()}: has no time zone; pass an aware datetime")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - its shape
        """Give the offset back."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class WholeNumber(TypeDecorator[int]):
    """A whole number of any size, as text: a seed may have more bits than any integer column.

    A JSON column would not do. SQLite gives it numeric affinity, and turns a bare number over 63 bits into a float.
    """

    impl = String
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - its shape
        """Write the digits."""
        return None if value is None else str(int(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> int | None:  # noqa: ARG002 - its shape
        """Read the digits."""
        return None if value is None else int(value)


class RunRow(SQLModel, table=True):
    """One evolution run (``evolution.runs.RunRecord``)."""

    __tablename__ = "run"

    id: str = Field(primary_key=True)
    status: str
    seed: int = Field(sa_type=WholeNumber)
    plan: dict[str, Any] = Field(sa_type=Document)
    dataset: str
    dataset_sha256: str = Field(index=True)
    config_hash: str
    engine_version: str
    profile: str | None = None
    note: str = Field(sa_type=Document)
    story: dict[str, Any] | None = Field(default=None, sa_type=Document)
    created: datetime = Field(sa_type=UtcDateTime)
    finished: datetime | None = Field(default=None, sa_type=UtcDateTime)


class SourceRow(SQLModel, table=True):
    """Strategy text, stored once whoever wrote it how often."""

    __tablename__ = "source"

    sha256: str = Field(primary_key=True)
    language: str = Field(primary_key=True)
    data: bytes = Field(sa_type=LargeBinary)


_SOURCE_KEY = (["source_sha256", "language"], ["source.sha256", "source.language"])


class CandidateRow(SQLModel, table=True):
    """A source's place in a run, and where it came from."""

    __tablename__ = "candidate"
    __table_args__ = (ForeignKeyConstraint(*_SOURCE_KEY), UniqueConstraint("run_id", "id"))

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    generation: int = Field(primary_key=True)
    index: int = Field(primary_key=True)
    id: str
    source_sha256: str = Field(index=True)
    language: str
    operator: str
    parents: list[str] = Field(sa_type=Document)
    seed: int | None = Field(default=None, sa_type=WholeNumber)
    model: str | None = Field(default=None, sa_type=Document)
    detail: str = Field(sa_type=Document)
    structure: str | None = Field(default=None, index=True)
    redraws: int | None = None


class TrialRow(SQLModel, table=True):
    """What was found out about a candidate. The columns that repeat the scorecard are there to be queried."""

    __tablename__ = "trial"
    __table_args__ = (
        ForeignKeyConstraint(
            ["run_id", "generation", "index"], ["candidate.run_id", "candidate.generation", "candidate.index"]
        ),
    )

    run_id: str = Field(primary_key=True)
    generation: int = Field(primary_key=True)
    index: int = Field(primary_key=True)
    outcome: str
    gate: int | None = None
    reason: str = Field(sa_type=Document)
    findings: list[dict[str, Any]] = Field(sa_type=Document)
    scorecard: dict[str, Any] | None = Field(default=None, sa_type=Document)
    sharpe: float | None = None
    calmar: float | None = None
    turnover: float | None = None
    violation: float | None = None
    score: float | None = None
    behaviour: str | None = None
    probe: str | None = None
    rhythm: bytes | None = Field(default=None, sa_type=LargeBinary)
    recalled: str | None = None
    cpu_s: float
    wall_s: float
    created: datetime = Field(sa_type=UtcDateTime)


class TrialRecordRow(SQLModel, table=True):
    """A trial's active returns on train (``evolution.record``); apart from the trial, since they are long."""

    __tablename__ = "trial_record"
    __table_args__ = (
        ForeignKeyConstraint(["run_id", "generation", "index"], ["trial.run_id", "trial.generation", "trial.index"]),
    )

    run_id: str = Field(primary_key=True)
    generation: int = Field(primary_key=True)
    index: int = Field(primary_key=True)
    length: int | None = None
    sharpe: float | None = None
    skewness: float | None = None
    kurtosis: float | None = None
    returns: bytes = Field(sa_type=LargeBinary)


class RunIntervalRow(SQLModel, table=True):
    """The bars of one symbol that a run's trials were scored on."""

    __tablename__ = "run_interval"

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    symbol: str = Field(primary_key=True, index=True)
    timeframe: str = Field(primary_key=True)
    start: datetime = Field(sa_type=UtcDateTime, primary_key=True)
    end: datetime = Field(sa_type=UtcDateTime)


class GenerationRow(SQLModel, table=True):
    """A generation at a glance."""

    __tablename__ = "generation"

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    generation: int = Field(primary_key=True)
    hypervolume: float | None = None
    counts: dict[str, int] = Field(sa_type=Document)
    created: datetime = Field(sa_type=UtcDateTime)


class ValidationReadRow(SQLModel, table=True):
    """One source read on the validation bars of one symbol; the rows of one read share their verdict."""

    __tablename__ = "validation_read"
    __table_args__ = (UniqueConstraint("source_sha256", "symbol", "timeframe", "start", "end"),)

    number: int | None = Field(default=None, sa_column=Column(Integer, primary_key=True))
    source_sha256: str = Field(index=True)
    symbol: str
    timeframe: str
    start: datetime = Field(sa_type=UtcDateTime)
    end: datetime = Field(sa_type=UtcDateTime)
    config_hash: str
    engine_version: str
    run_id: str = Field(index=True)
    candidate_id: str
    verdict: dict[str, Any] = Field(sa_type=Document)
    created: datetime = Field(sa_type=UtcDateTime)


class PoolEntryRow(SQLModel, table=True):
    """A source that passed admission."""

    __tablename__ = "pool_entry"
    __table_args__ = (
        ForeignKeyConstraint(*_SOURCE_KEY),
        ForeignKeyConstraint(["run_id", "candidate_id"], ["candidate.run_id", "candidate.id"]),
        UniqueConstraint("source_sha256", "dataset_sha256", "config_hash", "engine_version"),
        CheckConstraint("status IN ('candidate', 'promoted', 'declined', 'retired')", name="pool_entry_status"),
    )

    number: int | None = Field(default=None, sa_column=Column(Integer, primary_key=True))
    source_sha256: str
    language: str
    run_id: str
    candidate_id: str
    status: str
    score: float
    dataset: str
    dataset_sha256: str
    config_hash: str
    engine_version: str
    models: list[str] = Field(sa_type=Document)
    card: list[dict[str, Any]] = Field(sa_type=Document)
    notes: list[dict[str, Any]] | None = Field(default=None, sa_type=Document)
    created: datetime = Field(sa_type=UtcDateTime)


class RefusalRow(SQLModel, table=True):
    """One admission check that a candidate did not pass."""

    __tablename__ = "refusal"
    __table_args__ = (ForeignKeyConstraint(["run_id", "candidate_id"], ["candidate.run_id", "candidate.id"]),)

    run_id: str = Field(primary_key=True)
    candidate_id: str = Field(primary_key=True)
    check: str = Field(sa_column=Column("check_name", String, primary_key=True))  # CHECK is a reserved word in SQL
    figure: float | None = None
    limit: float = Field(sa_column=Column("limit_value", Float, nullable=False))  # and so is LIMIT
    sentence: str = Field(sa_type=Document)
    created: datetime = Field(sa_type=UtcDateTime)


class VaultLookRow(SQLModel, table=True):
    """One entry looked at on the vault bars of one symbol; the rows of one look share everything but the interval."""

    __tablename__ = "vault_look"

    look: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    symbol: str = Field(primary_key=True)
    timeframe: str
    start: datetime = Field(sa_type=UtcDateTime)
    end: datetime = Field(sa_type=UtcDateTime)
    entry: int = Field(foreign_key="pool_entry.number", index=True)
    source_sha256: str
    dataset: str
    vault_sha256: str
    config_hash: str
    engine_version: str
    alpha: float
    passed: bool | None = None
    figures: dict[str, Any] | None = Field(default=None, sa_type=Document)
    by: str = Field(sa_type=Document)
    at: datetime = Field(sa_type=UtcDateTime)
    settled: datetime | None = Field(default=None, sa_type=UtcDateTime)


class PersonRow(SQLModel, table=True):
    """Somebody who may decide (``evolution.pool.people``). The private key is not in here."""

    __tablename__ = "person"

    number: int | None = Field(default=None, sa_column=Column(Integer, primary_key=True))
    name: str = Field(sa_type=Document)
    name_key: str = Field(unique=True)
    public_key: str | None = Field(default=None, unique=True)
    created: datetime = Field(sa_type=UtcDateTime)
    keyed: datetime | None = Field(default=None, sa_type=UtcDateTime)


class DecisionRow(SQLModel, table=True):
    """What a person decided about an entry. Rows are only ever added, and each one's hash covers the one before."""

    __tablename__ = "decision"

    number: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    entry: int = Field(foreign_key="pool_entry.number", index=True)
    decision: str
    by: str = Field(sa_type=Document)
    reason: str = Field(sa_type=Document)
    at: datetime = Field(sa_type=UtcDateTime)
    source_sha256: str
    dataset_sha256: str
    config_hash: str
    engine_version: str
    look: int | None = None
    previous_hash: str = Field(unique=True)
    hash: str = Field(unique=True)
    attestation: str | None = None
    public_key: str | None = None
    signature: str | None = None


class DecisionCodeRow(SQLModel, table=True):
    """A one-time code that was given out (``evolution.pool.codes``); the code itself is not in here."""

    __tablename__ = "decision_code"

    number: int | None = Field(default=None, sa_column=Column(Integer, primary_key=True))
    code_key: str = Field(unique=True)
    entry: int = Field(foreign_key="pool_entry.number", index=True)
    choice: str
    by: str = Field(sa_type=Document)
    public_key: str
    source_sha256: str
    dataset_sha256: str
    config_hash: str
    engine_version: str
    issued: datetime = Field(sa_type=UtcDateTime)
    expires: datetime = Field(sa_type=UtcDateTime)
    signature: str
    spent: datetime | None = Field(default=None, sa_type=UtcDateTime)
    fate: str | None = None
