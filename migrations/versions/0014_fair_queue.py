"""Parts are taken from the workspaces in turn: what each was served, and how to find the next part fast."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations import online

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

SERVED = ("queue_start", "queue_finish")


def upgrade() -> None:
    for column in SERVED:
        served = sa.Column(column, sa.Double(), server_default="0", nullable=False)
        online.add_column("workspaces", served)
    cost = sa.Column("part_seconds", sa.Double(), server_default="1", nullable=False)
    online.add_column("jobs", cost)
    online.create_index("ix_workspaces_queue_start", "workspaces", ["queue_start"])
    online.create_index(
        "ix_jobs_unfinished_by_workspace",
        "jobs",
        ["workspace", "status", "id"],
        where="status IN ('queued', 'running')",
    )
    online.create_index("ix_parts_running", "parts", ["job_id"], where="status = 'running'")


def downgrade() -> None:
    op.drop_index("ix_parts_running", table_name="parts")
    op.drop_index("ix_jobs_unfinished_by_workspace", table_name="jobs")
    op.drop_column("jobs", "part_seconds")
    for column in SERVED:
        op.drop_column("workspaces", column)
