"""Rows are shown to a role that does not own the tables only where they are of the workspace it named.

The owner, which migrates, computes and maintains, sees all. The API names the workspace of its caller in
every transaction: `tastetest.workspace`.
"""

from __future__ import annotations

from alembic import op

from migrations import online

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

ROOTS = ("matrices", "jobs", "selections", "webhooks", "idempotency_keys", "api_keys")
# Child → its root, and the column that names it.
CHILDREN = {
    "matrix_revisions": ("matrices", "matrix_id"),
    "matrix_rows": ("matrices", "matrix_id"),
    "model_facts": ("matrices", "matrix_id"),
    "parts": ("jobs", "job_id"),
    "answers": ("selections", "selection_id"),
    "deliveries": ("webhooks", "webhook_id"),
}
# Read once a statement, not once a row.
NAMED = "(SELECT current_setting('tastetest.workspace', true))"


def upgrade() -> None:
    for table in ROOTS:
        _protect(table, f"workspace = {NAMED}")
    for table, (root, column) in CHILDREN.items():
        _protect(table, f"EXISTS (SELECT FROM {root} r WHERE r.id = {table}.{column})")


def _protect(table: str, condition: str) -> None:
    online.alone(
        f"DROP POLICY IF EXISTS own_workspace ON {table}",
        f"CREATE POLICY own_workspace ON {table} USING ({condition}) WITH CHECK ({condition})",
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
    )


def downgrade() -> None:
    for table in (*ROOTS, *CHILDREN):
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
        op.execute(f"DROP POLICY own_workspace ON {table}")
