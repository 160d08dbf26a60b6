"""How each webhook fares: its failures in a row, until when it rests, and since when it is paused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

COLUMNS = ("failures", "sending_until", "resting_until", "paused_at")


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("failures", sa.Integer(), server_default="0", nullable=False))
    for column in COLUMNS[1:]:
        op.add_column("webhooks", sa.Column(column, sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    for column in COLUMNS:
        op.drop_column("webhooks", column)
