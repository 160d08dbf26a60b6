"""A list of jobs by kind and status, and the metrics, read only rows that they show."""

from __future__ import annotations

from migrations import online

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_jobs_workspace_kind_status_id": ("jobs", ["workspace", "kind", "status", "id"], ""),
    "ix_jobs_workspace_status_id": ("jobs", ["workspace", "status", "id"], ""),
    "ix_parts_failures": ("parts", ["failures"], "failures > 0"),
    "ix_parts_queued_available_at": ("parts", ["available_at"], "status = 'queued'"),
}


def upgrade() -> None:
    for name, (table, columns, where) in INDEXES.items():
        online.create_index(name, table, columns, where=where)


def downgrade() -> None:
    for name in INDEXES:
        online.drop_index(name)
