"""What a search remembers: structure and probe of every candidate, what was recalled, and the story of a run."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make five columns; rows of earlier versions have none of it."""
    op.add_column("run", sa.Column("story", sa.JSON))
    op.add_column("candidate", sa.Column("structure", sa.String))
    op.add_column("candidate", sa.Column("redraws", sa.Integer))
    op.create_index("ix_candidate_structure", "candidate", ["structure"])
    op.add_column("trial", sa.Column("probe", sa.String))
    op.add_column("trial", sa.Column("recalled", sa.String))
