"""A time by which every job has ended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("deadline_at", sa.DateTime(timezone=True), nullable=True))
    # Ended jobs may not change, not even so; and they need no deadline.
    op.execute(
        "UPDATE jobs SET deadline_at = created_at + interval '1 day' WHERE status IN ('queued', 'running')"
    )


def downgrade() -> None:
    op.drop_column("jobs", "deadline_at")
