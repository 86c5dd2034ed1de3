"""Calls to models: what was sent, what came back, and what it cost."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the two tables."""
    op.create_table(
        "llm_request",
        sa.Column("sha256", sa.String, primary_key=True),
        sa.Column("dialect", sa.String, nullable=False),
        sa.Column("path", sa.String, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "llm_call",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.String, sa.ForeignKey("run.id"), nullable=False),
        sa.Column("subject", sa.String, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("profile", sa.String, nullable=False),
        sa.Column("model", sa.JSON, nullable=False),
        sa.Column("prompt_version", sa.String, nullable=False),
        sa.Column("request_sha256", sa.String, sa.ForeignKey("llm_request.sha256"), nullable=False),
        sa.Column("sent", sa.DateTime(timezone=True), nullable=False),
        sa.Column("charged_tokens", sa.Integer, nullable=False),
        sa.Column("charged_money", sa.Float),
        sa.Column("currency", sa.String),
        sa.Column("status", sa.Integer),
        sa.Column("content_type", sa.JSON),
        sa.Column("response", sa.LargeBinary),
        sa.Column("outcome", sa.String),
        sa.Column("reason", sa.JSON, nullable=False),
        sa.Column("prompt_tokens", sa.Integer, nullable=False),
        sa.Column("completion_tokens", sa.Integer, nullable=False),
        sa.Column("estimated", sa.Boolean, nullable=False),
        sa.Column("elapsed_s", sa.Float),
        sa.UniqueConstraint("run_id", "subject", "ordinal", "attempt"),
    )
    op.create_index("ix_llm_call_run_id", "llm_call", ["run_id"])
    op.create_index("ix_llm_call_request_sha256", "llm_call", ["request_sha256"])
    op.create_index("ix_llm_call_sent", "llm_call", ["sent"])
