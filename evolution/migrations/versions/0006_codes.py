"""One-time codes with which people decide where their key is not."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make one table."""
    op.create_table(
        "decision_code",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("code_key", sa.String, nullable=False, unique=True),
        sa.Column("entry", sa.Integer, sa.ForeignKey("pool_entry.number"), nullable=False),
        sa.Column("choice", sa.String, nullable=False),
        sa.Column("by", sa.JSON, nullable=False),
        sa.Column("public_key", sa.String, nullable=False),
        sa.Column("source_sha256", sa.String, nullable=False),
        sa.Column("dataset_sha256", sa.String, nullable=False),
        sa.Column("config_hash", sa.String, nullable=False),
        sa.Column("engine_version", sa.String, nullable=False),
        sa.Column("issued", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.Column("signature", sa.String, nullable=False),
        sa.Column("spent", sa.DateTime(timezone=True)),
        sa.Column("fate", sa.String),
    )
    op.create_index("ix_decision_code_entry", "decision_code", ["entry"])
