"""Paper trading: deployments, runs, bars, plans, tokens, orders, fills, ledger, decisions, locks, leases and the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables and their indexes."""
    op.create_table(
        "paper_deployment",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("signer", sa.Text, nullable=False),
        sa.Column("public_key", sa.String, nullable=False),
        sa.Column("signature", sa.String, nullable=False),
        sa.Column("revoked", sa.String, nullable=True),
        sa.Column("revoked_by", sa.Text, nullable=True),
        sa.Column("revoked_reason", sa.Text, nullable=True),
    )
    op.create_table(
        "paper_run",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("deployment", sa.String, nullable=False),
        sa.Column("account", sa.String, nullable=False),
        sa.Column("symbol", sa.String, nullable=False),
        sa.Column("started_by", sa.Text, nullable=False),
        sa.Column("guards", sa.Text, nullable=True),
        sa.Column("unguarded_by", sa.Text, nullable=True),
        sa.Column("feed", sa.Text, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("stop_by", sa.Text, nullable=True),
        sa.Column("created", sa.String, nullable=False),
        sa.Column("finished", sa.String, nullable=True),
        sa.Column("warm", sa.Integer, nullable=False),
        sa.Column("bars", sa.Integer, nullable=False),
        sa.Column("chain", sa.String, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["deployment"], ["paper_deployment.id"]),
    )
    op.create_index("ix_paper_run_deployment", "paper_run", ["deployment"])
    op.create_index("ix_paper_run_account", "paper_run", ["account"])
    op.create_table(
        "paper_bar",
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("bar", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("ts", sa.BigInteger, nullable=False),
        sa.Column("open", sa.Float, nullable=False),
        sa.Column("high", sa.Float, nullable=False),
        sa.Column("low", sa.Float, nullable=False),
        sa.Column("close", sa.Float, nullable=False),
        sa.Column("volume", sa.Float, nullable=False),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("state_sha256", sa.String, nullable=False),
        sa.Column("chain", sa.String, nullable=False),
        sa.Column("taken", sa.String, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["paper_run.id"]),
    )
    op.create_table(
        "paper_plan",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("run", sa.String, nullable=False),
        sa.Column("bar", sa.Integer, nullable=True),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("maker", sa.Text, nullable=False),
        sa.Column("maker_kind", sa.String, nullable=False),
        sa.Column("created", sa.String, nullable=False),
        sa.Column("expires", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("checker", sa.Text, nullable=True),
        sa.Column("checked", sa.String, nullable=True),
        sa.Column("public_key", sa.String, nullable=True),
        sa.Column("signature", sa.String, nullable=True),
        sa.ForeignKeyConstraint(["run"], ["paper_run.id"]),
    )
    op.create_index("ix_paper_plan_run", "paper_plan", ["run"])
    op.create_index("ix_paper_plan_status", "paper_plan", ["status"])
    op.create_table(
        "paper_token",
        sa.Column("sha256", sa.String, primary_key=True),
        sa.Column("plan", sa.String, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("expires", sa.String, nullable=False),
        sa.Column("used", sa.String, nullable=True),
        sa.ForeignKeyConstraint(["plan"], ["paper_plan.id"]),
    )
    op.create_index("ix_paper_token_plan", "paper_token", ["plan"])
    op.create_table(
        "paper_order",
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("plan", sa.String, nullable=False, unique=True),
        sa.Column("bar", sa.Integer, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["paper_run.id"]),
        sa.ForeignKeyConstraint(["plan"], ["paper_plan.id"]),
    )
    op.create_table(
        "paper_fill",
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("bar", sa.Integer, nullable=False),
        sa.Column("ts", sa.BigInteger, nullable=False),
        sa.Column("side", sa.String, nullable=False),
        sa.Column("quantity", sa.Float, nullable=False),
        sa.Column("price", sa.Float, nullable=False),
        sa.Column("fee", sa.Float, nullable=False),
        sa.Column("tag", sa.Text, nullable=False),
        sa.Column("order_number", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["paper_run.id"]),
    )
    op.create_table(
        "paper_ledger",
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("bar", sa.Integer, nullable=False),
        sa.Column("cash", sa.Float, nullable=False),
        sa.Column("position", sa.Float, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["paper_run.id"]),
    )
    op.create_table(
        "paper_decision",
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("bar", sa.Integer, nullable=False),
        sa.Column("ts", sa.BigInteger, nullable=False),
        sa.Column("context", sa.Text, nullable=False),
        sa.Column("intent", sa.Text, nullable=False),
        sa.Column("plan", sa.String, nullable=True),
        sa.Column("order_number", sa.Integer, nullable=True),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["paper_run.id"]),
    )
    op.create_table(
        "paper_lock",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("account", sa.String, nullable=False),
        sa.Column("market", sa.String, nullable=True),
        sa.Column("symbol", sa.String, nullable=True),
        sa.Column("side", sa.String, nullable=True),
        sa.Column("until", sa.String, nullable=False),
        sa.Column("rule", sa.String, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    op.create_index("ix_paper_lock_account", "paper_lock", ["account"])
    op.create_table(
        "paper_lease",
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("holder", sa.String, nullable=False),
        sa.Column("expires", sa.String, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["paper_run.id"]),
    )
    op.create_table(
        "paper_audit",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("line", sa.Text, nullable=False),
    )
    op.create_table(
        "paper_audit_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("hash", sa.String, nullable=False),
    )
