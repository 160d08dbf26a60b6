"""Comparisons are kept, so that each has a page."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

NAMED = "(SELECT current_setting('tastetest.workspace', true))"


def upgrade() -> None:
    op.create_table(
        "comparisons",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("matrix_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("selection_id", sa.Uuid(as_uuid=False)),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "workspace",
            sa.Text(),
            sa.ForeignKey("workspaces.name", name="fk_comparisons_workspace"),
            nullable=False,
            server_default="default",
        ),
        sa.ForeignKeyConstraint(
            ["matrix_id", "workspace"],
            ["matrices.id", "matrices.workspace"],
            name="fk_comparisons_matrix_id_workspace",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_comparisons_matrix_id", "comparisons", ["matrix_id"])
    op.create_index("ix_comparisons_workspace_id", "comparisons", ["workspace", "id"])
    op.create_index("ix_comparisons_created_at", "comparisons", ["created_at"])
    op.execute("ALTER TABLE comparisons ENABLE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY own_workspace ON comparisons USING (workspace = {NAMED})"
        f" WITH CHECK (workspace = {NAMED})"
    )


def downgrade() -> None:
    op.drop_table("comparisons")
