"""What the tool that ran a matrix's examples calls them, and what each model's log says of its answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# zstd does not compress again.
STORAGE = """
ALTER TABLE matrices ALTER COLUMN origin SET STORAGE EXTERNAL;
ALTER TABLE matrix_rows ALTER COLUMN states SET STORAGE EXTERNAL, ALTER COLUMN repeats SET STORAGE EXTERNAL;
"""
ACCOUNT = {
    "errored": sa.Integer(),
    "unscored": sa.Integer(),
    "not_run": sa.Integer(),
    "answers": sa.BigInteger(),
    "reported": sa.Double(),
    "states": sa.LargeBinary(),
    "repeats": sa.LargeBinary(),
}


def upgrade() -> None:
    op.add_column("matrices", sa.Column("origin", sa.LargeBinary(), nullable=True))
    for name, kind in ACCOUNT.items():
        op.add_column("matrix_rows", sa.Column(name, kind, nullable=True))
    op.execute(STORAGE)


def downgrade() -> None:
    for name in reversed(ACCOUNT):
        op.drop_column("matrix_rows", name)
    op.drop_column("matrices", "origin")
