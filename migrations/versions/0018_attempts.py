"""Every attempt of a model, beside the means of its attempts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("matrix_rows", sa.Column("attempts", sa.LargeBinary))
    # Incompressible for Postgres: it is compressed already.
    op.execute("ALTER TABLE matrix_rows ALTER COLUMN attempts SET STORAGE EXTERNAL")


def downgrade() -> None:
    op.drop_column("matrix_rows", "attempts")
