"""When each trial earned: what tells near-copies from different strategies."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make one column; rows of earlier versions have nothing there."""
    op.add_column("trial", sa.Column("rhythm", sa.LargeBinary))
