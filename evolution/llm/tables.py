"""The tables of calls to models. Rows only; ``evolution.llm.ledger`` converts both ways.

Prompts and answers are kept whole and compressed. They are for the owner of the run: never for an artifact or a report.
"""

# No postponed annotations here: SQLModel reads them while each class is made.

from datetime import datetime

from sqlalchemy import Column, Integer, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from evolution.tables import Document, UtcDateTime


class LlmRequestRow(SQLModel, table=True):
    """A request body under its hash, once however often it is sent."""

    __tablename__ = "llm_request"

    sha256: str = Field(primary_key=True)
    dialect: str
    path: str
    body: bytes = Field(sa_type=LargeBinary)


class LlmCallRow(SQLModel, table=True):
    """One attempt to have a request answered, or a ceiling that kept it from being sent."""

    __tablename__ = "llm_call"
    __table_args__ = (UniqueConstraint("run_id", "subject", "ordinal", "attempt"),)

    number: int | None = Field(default=None, sa_column=Column(Integer, primary_key=True))
    run_id: str = Field(foreign_key="run.id", index=True)
    subject: str
    generation: int
    ordinal: int
    attempt: int
    profile: str
    model: str = Field(sa_type=Document)
    prompt_version: str
    request_sha256: str = Field(foreign_key="llm_request.sha256", index=True)
    sent: datetime = Field(sa_type=UtcDateTime, index=True)
    charged_tokens: int
    charged_money: float | None = None
    currency: str | None = None
    status: int | None = None
    content_type: str | None = Field(default=None, sa_type=Document)
    response: bytes | None = Field(default=None, sa_type=LargeBinary)
    outcome: str | None = None
    reason: str = Field(sa_type=Document)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    elapsed_s: float | None = None
