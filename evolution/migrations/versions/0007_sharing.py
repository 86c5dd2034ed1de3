"""Several processes work on one run: who leads it, what others need for it, and which candidates are to be tried."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

Stamp = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make three tables, empty: runs of earlier versions have one process each."""
    op.create_table(
        "run_lease",
        sa.Column("run_id", sa.String, sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("holder", sa.String, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("expires", Stamp, nullable=False),
    )
    op.create_table(
        "shared_run",
        sa.Column("run_id", sa.String, sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("code", sa.String, nullable=False),
        sa.Column("bench_sha256", sa.String, nullable=False),
        sa.Column("bench", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "shared_candidate",
        sa.Column("run_id", sa.String, sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("candidate_id", sa.String, primary_key=True),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("index", sa.Integer, nullable=False),
        sa.Column("language", sa.String, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("origin", sa.JSON, nullable=False),
        sa.Column("is_full", sa.Boolean, nullable=False),
        sa.Column("holder", sa.String),
        sa.Column("expires", Stamp),
        sa.Column("is_done", sa.Boolean, nullable=False),
    )
