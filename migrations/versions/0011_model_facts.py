"""What is known of a matrix's models beside their results: family, release date, tags."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "model_facts",
        sa.Column("matrix_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("model", sa.Text(collation="C"), nullable=False),
        sa.Column("family", sa.Text(), nullable=True),
        sa.Column("released", sa.Date(), nullable=True),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), nullable=False, server_default="{}"),
        sa.PrimaryKeyConstraint("matrix_id", "model", name="pk_model_facts"),
        sa.ForeignKeyConstraint(
            ["matrix_id"], ["matrices.id"], name="fk_model_facts_matrix_id_matrices", ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    op.drop_table("model_facts")
