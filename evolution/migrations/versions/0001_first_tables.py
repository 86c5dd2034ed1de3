"""The first tables: runs and trials, what was read and looked at, the pool and what people decided."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

Stamp = sa.DateTime(timezone=True)
_SOURCE_KEY = (["source_sha256", "language"], ["source.sha256", "source.language"])
_CANDIDATE_KEY = (["run_id", "candidate_id"], ["candidate.run_id", "candidate.id"])


def upgrade() -> None:
    """Make everything."""
    _runs()
    _trials()
    _pool()
    _looks_and_decisions()


def _runs() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("seed", sa.String, nullable=False),
        sa.Column("plan", sa.JSON, nullable=False),
        sa.Column("dataset", sa.String, nullable=False),
        sa.Column("dataset_sha256", sa.String, nullable=False),
        sa.Column("config_hash", sa.String, nullable=False),
        sa.Column("engine_version", sa.String, nullable=False),
        sa.Column("profile", sa.String),
        sa.Column("note", sa.JSON, nullable=False),
        sa.Column("created", Stamp, nullable=False),
        sa.Column("finished", Stamp),
    )
    op.create_index("ix_run_dataset_sha256", "run", ["dataset_sha256"])
    op.create_table(
        "generation",
        sa.Column("run_id", sa.String, sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("hypervolume", sa.Float),
        sa.Column("counts", sa.JSON, nullable=False),
        sa.Column("created", Stamp, nullable=False),
    )


def _trials() -> None:
    op.create_table(
        "source",
        sa.Column("sha256", sa.String, primary_key=True),
        sa.Column("language", sa.String, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "candidate",
        sa.Column("run_id", sa.String, sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("index", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("source_sha256", sa.String, nullable=False),
        sa.Column("language", sa.String, nullable=False),
        sa.Column("operator", sa.String, nullable=False),
        sa.Column("parents", sa.JSON, nullable=False),
        sa.Column("seed", sa.String),
        sa.Column("model", sa.JSON),
        sa.Column("detail", sa.JSON, nullable=False),
        sa.ForeignKeyConstraint(*_SOURCE_KEY),
        sa.UniqueConstraint("run_id", "id"),
    )
    op.create_index("ix_candidate_source_sha256", "candidate", ["source_sha256"])
    op.create_table(
        "trial",
        sa.Column("run_id", sa.String, primary_key=True),
        sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("index", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("gate", sa.Integer),
        sa.Column("reason", sa.JSON, nullable=False),
        sa.Column("findings", sa.JSON, nullable=False),
        sa.Column("scorecard", sa.JSON),
        sa.Column("sharpe", sa.Float),
        sa.Column("calmar", sa.Float),
        sa.Column("turnover", sa.Float),
        sa.Column("violation", sa.Float),
        sa.Column("score", sa.Float),
        sa.Column("behaviour", sa.String),
        sa.Column("cpu_s", sa.Float, nullable=False),
        sa.Column("wall_s", sa.Float, nullable=False),
        sa.Column("created", Stamp, nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "generation", "index"], ["candidate.run_id", "candidate.generation", "candidate.index"]
        ),
    )


def _pool() -> None:
    op.create_table(
        "validation_read",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("source_sha256", sa.String, nullable=False),
        sa.Column("symbol", sa.String, nullable=False),
        sa.Column("timeframe", sa.String, nullable=False),
        sa.Column("start", Stamp, nullable=False),
        sa.Column("end", Stamp, nullable=False),
        sa.Column("config_hash", sa.String, nullable=False),
        sa.Column("engine_version", sa.String, nullable=False),
        sa.Column("run_id", sa.String, nullable=False),
        sa.Column("candidate_id", sa.String, nullable=False),
        sa.Column("verdict", sa.JSON, nullable=False),
        sa.Column("created", Stamp, nullable=False),
        sa.UniqueConstraint("source_sha256", "symbol", "timeframe", "start", "end"),
    )
    op.create_index("ix_validation_read_source_sha256", "validation_read", ["source_sha256"])
    op.create_index("ix_validation_read_run_id", "validation_read", ["run_id"])
    op.create_table(
        "refusal",
        sa.Column("run_id", sa.String, primary_key=True),
        sa.Column("candidate_id", sa.String, primary_key=True),
        sa.Column("check_name", sa.String, primary_key=True),
        sa.Column("figure", sa.Float),
        sa.Column("limit_value", sa.Float, nullable=False),
        sa.Column("sentence", sa.JSON, nullable=False),
        sa.Column("created", Stamp, nullable=False),
        sa.ForeignKeyConstraint(*_CANDIDATE_KEY),
    )
    op.create_table(
        "pool_entry",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("source_sha256", sa.String, nullable=False),
        sa.Column("language", sa.String, nullable=False),
        sa.Column("run_id", sa.String, nullable=False),
        sa.Column("candidate_id", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("score", sa.Float, nullable=False),
        sa.Column("dataset", sa.String, nullable=False),
        sa.Column("dataset_sha256", sa.String, nullable=False),
        sa.Column("config_hash", sa.String, nullable=False),
        sa.Column("engine_version", sa.String, nullable=False),
        sa.Column("models", sa.JSON, nullable=False),
        sa.Column("card", sa.JSON, nullable=False),
        sa.Column("created", Stamp, nullable=False),
        sa.ForeignKeyConstraint(*_SOURCE_KEY),
        sa.ForeignKeyConstraint(*_CANDIDATE_KEY),
        sa.UniqueConstraint("source_sha256", "dataset_sha256", "config_hash", "engine_version"),
        sa.CheckConstraint("status IN ('candidate', 'promoted', 'declined', 'retired')", name="pool_entry_status"),
    )


def _looks_and_decisions() -> None:
    op.create_table(
        "vault_look",
        sa.Column("look", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("symbol", sa.String, primary_key=True),
        sa.Column("timeframe", sa.String, nullable=False),
        sa.Column("start", Stamp, nullable=False),
        sa.Column("end", Stamp, nullable=False),
        sa.Column("entry", sa.Integer, sa.ForeignKey("pool_entry.number"), nullable=False),
        sa.Column("source_sha256", sa.String, nullable=False),
        sa.Column("dataset", sa.String, nullable=False),
        sa.Column("vault_sha256", sa.String, nullable=False),
        sa.Column("config_hash", sa.String, nullable=False),
        sa.Column("engine_version", sa.String, nullable=False),
        sa.Column("alpha", sa.Float, nullable=False),
        sa.Column("passed", sa.Boolean),
        sa.Column("figures", sa.JSON),
        sa.Column("by", sa.JSON, nullable=False),
        sa.Column("at", Stamp, nullable=False),
        sa.Column("settled", Stamp),
    )
    op.create_index("ix_vault_look_entry", "vault_look", ["entry"])
    op.create_table(
        "decision",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("entry", sa.Integer, sa.ForeignKey("pool_entry.number"), nullable=False),
        sa.Column("decision", sa.String, nullable=False),
        sa.Column("by", sa.JSON, nullable=False),
        sa.Column("reason", sa.JSON, nullable=False),
        sa.Column("at", Stamp, nullable=False),
        sa.Column("source_sha256", sa.String, nullable=False),
        sa.Column("dataset_sha256", sa.String, nullable=False),
        sa.Column("config_hash", sa.String, nullable=False),
        sa.Column("engine_version", sa.String, nullable=False),
        sa.Column("look", sa.Integer),
        sa.Column("previous_hash", sa.String, nullable=False, unique=True),
        sa.Column("hash", sa.String, nullable=False, unique=True),
    )
    op.create_index("ix_decision_entry", "decision", ["entry"])
