"""What the reconciler did and found, and what retention needs to find old jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations import online

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # In a transaction of its own, so that this can be done again when the index could not be built.
    op.execute("DROP TABLE IF EXISTS upkeep")
    op.create_table(
        "upkeep",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("reconciled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("swept_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leases_expired", sa.BigInteger(), nullable=False),
        sa.Column("rings_repeated", sa.BigInteger(), nullable=False),
        sa.Column("violations", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_upkeep_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upkeep")),
    )
    op.execute("INSERT INTO upkeep (id, leases_expired, rings_repeated, violations) VALUES (1, 0, 0, '{}')")
    online.create_index("ix_jobs_finished_at", "jobs", ["finished_at"], where="finished_at IS NOT NULL")


def downgrade() -> None:
    op.drop_table("upkeep")
    op.drop_index("ix_jobs_finished_at", table_name="jobs")
