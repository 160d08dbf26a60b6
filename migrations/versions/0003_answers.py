"""Answers of models on a selection only, kept so that comparisons need no resend."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "answers",
        sa.Column("selection_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("model", sa.Text(collation="C"), nullable=False),
        sa.Column("answers", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["selection_id"], ["selections.id"], name=op.f("fk_answers_selection_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("selection_id", "model", name=op.f("pk_answers")),
    )


def downgrade() -> None:
    op.drop_table("answers")
