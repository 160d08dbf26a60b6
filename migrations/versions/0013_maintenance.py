"""Failed maintenance is counted; a select job names its selection; busy tables are vacuumed early."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations import online

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

UNLINKED = "kind = 'select' AND status = 'succeeded' AND selection_id IS NULL"

# What has ended stays as it is, but for the selection it names, which rows of earlier releases get later.
FINAL = """
    IF OLD.status IN ('succeeded', 'failed', 'cancelled') AND (
        OLD.selection_id IS NOT NULL OR NEW.selection_id IS NULL
        OR (NEW.status, NEW.finished_at, NEW.error, NEW.parts_done, NEW.cancel_requested)
            IS DISTINCT FROM (OLD.status, OLD.finished_at, OLD.error, OLD.parts_done, OLD.cancel_requested)
        OR NEW.result IS DISTINCT FROM OLD.result
    ) THEN"""
WAS = "\n    IF OLD.status IN ('succeeded', 'failed', 'cancelled') THEN"


def upgrade() -> None:
    failures = sa.Column("failures", postgresql.JSONB(), server_default="{}", nullable=False)
    online.add_column("upkeep", failures)
    online.add_column("jobs", sa.Column("selection_id", sa.Uuid(as_uuid=False)))
    _replace(WAS, FINAL)
    for table in ("jobs", "parts"):
        online.alone(f"ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0.02)")
    online.create_index("ix_jobs_selection_id", "jobs", ["selection_id"], where="selection_id IS NOT NULL")
    online.create_index("ix_jobs_unlinked", "jobs", ["id"], where=UNLINKED)


def downgrade() -> None:
    _replace(FINAL, WAS)
    for table in ("jobs", "parts"):
        op.execute(f"ALTER TABLE {table} RESET (autovacuum_vacuum_scale_factor)")
    op.drop_column("jobs", "selection_id")
    op.drop_column("upkeep", "failures")


def _replace(old: str, new: str) -> None:
    """Change one condition of the trigger's function."""
    bind = op.get_bind()
    source = bind.scalar(sa.text("SELECT pg_get_functiondef('guard_job'::regproc)"))
    if new not in source:
        op.execute(sa.text(source.replace(old, new).replace(":", r"\:")))
