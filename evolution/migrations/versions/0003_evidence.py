"""What evidence needs: active returns of every trial, notes on pool entries, people and their signatures."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

Stamp = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make three tables and four columns."""
    op.create_table(
        "trial_record",
        sa.Column("run_id", sa.String, primary_key=True),
        sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("index", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("length", sa.Integer),
        sa.Column("sharpe", sa.Float),
        sa.Column("skewness", sa.Float),
        sa.Column("kurtosis", sa.Float),
        sa.Column("returns", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["run_id", "generation", "index"], ["trial.run_id", "trial.generation", "trial.index"]),
    )
    op.create_table(
        "run_interval",
        sa.Column("run_id", sa.String, sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("symbol", sa.String, primary_key=True),
        sa.Column("timeframe", sa.String, primary_key=True),
        sa.Column("start", Stamp, primary_key=True),
        sa.Column("end", Stamp, nullable=False),
    )
    op.create_index("ix_run_interval_symbol", "run_interval", ["symbol"])
    op.create_table(
        "person",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("name", sa.JSON, nullable=False),
        sa.Column("name_key", sa.String, nullable=False, unique=True),
        sa.Column("public_key", sa.String, unique=True),
        sa.Column("created", Stamp, nullable=False),
        sa.Column("keyed", Stamp),
    )
    op.add_column("pool_entry", sa.Column("notes", sa.JSON))
    op.add_column("decision", sa.Column("attestation", sa.String))
    op.add_column("decision", sa.Column("public_key", sa.String))
    op.add_column("decision", sa.Column("signature", sa.String))
