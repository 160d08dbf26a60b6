"""Workspaces, to which every root row belongs, and API keys.

What stands belongs to the workspace `default`, and so does what a server of the release before
writes while both run: it knows of no workspace.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations import online

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ROOTS = ("matrices", "jobs", "selections", "webhooks", "idempotency_keys")
ON_MATRICES = ("jobs", "selections")
LISTED = ("matrices", "jobs", "selections")

GUARD = """
CREATE OR REPLACE FUNCTION guard_workspace() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% %: stays in its workspace', TG_TABLE_NAME, OLD.id USING ERRCODE = 'check_violation';
END $$
"""
STORED = """
UPDATE matrices m SET stored_bytes = octet_length(m.examples) + octet_length(m.strata)
    + coalesce(octet_length(m.embeddings), 0) + octet_length(m.bounds) + octet_length(m.header_sha256)
    + coalesce(octet_length(m.origin), 0) + coalesce((
    SELECT sum(octet_length(r.scores) + coalesce(octet_length(r.missing), 0)
        + coalesce(octet_length(r.confidences), 0) + coalesce(octet_length(r.states), 0)
        + coalesce(octet_length(r.repeats), 0))
    FROM matrix_rows r WHERE r.matrix_id = m.id), 0)
"""


def upgrade() -> None:
    """In steps that can be done again: those on large tables are no transaction with the rest."""
    op.create_table(
        "workspaces",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("name ~ '^[a-z0-9][a-z0-9-]{0,62}$'", name=op.f("ck_workspaces_name")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_workspaces")),
        if_not_exists=True,
    )
    op.execute("INSERT INTO workspaces VALUES ('default', now()) ON CONFLICT DO NOTHING")
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("secret_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'admin']",
            name=op.f("ck_api_keys_scopes"),
        ),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_api_keys_workspace")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        if_not_exists=True,
    )
    for table in ROOTS:
        # A constant default is written to no row.
        column = sa.Column("workspace", sa.Text(), server_default="default", nullable=False)
        online.add_column(table, column)
    op.drop_constraint("pk_idempotency_keys", "idempotency_keys")
    op.create_primary_key(op.f("pk_idempotency_keys"), "idempotency_keys", ["workspace", "key"])
    stored = sa.Column("stored_bytes", sa.BigInteger(), server_default="0", nullable=False)
    online.add_column("matrices", stored)
    op.execute(STORED)
    op.execute("ALTER TABLE matrices DROP CONSTRAINT IF EXISTS uq_matrices_id_workspace CASCADE")
    op.create_unique_constraint(op.f("uq_matrices_id_workspace"), "matrices", ["id", "workspace"])
    for table in ROOTS:
        online.add_foreign_key(f"fk_{table}_workspace", table, ["workspace"], "workspaces", ["name"])
    for table in LISTED:
        online.create_index(f"ix_{table}_workspace_id", table, ["workspace", "id"])
    _keep_together()


def _keep_together() -> None:
    """Jobs and selections are where their matrix is, and nothing moves."""
    for table in ON_MATRICES:
        name = f"fk_{table}_matrix_id_workspace"
        online.add_foreign_key(name, table, ["matrix_id", "workspace"], "matrices", ["id", "workspace"])
    op.execute(GUARD)
    for table in (*ON_MATRICES, "matrices"):
        op.execute(
            f"CREATE OR REPLACE TRIGGER stay BEFORE UPDATE OF workspace ON {table} FOR EACH ROW"
            " WHEN (OLD.workspace <> NEW.workspace) EXECUTE FUNCTION guard_workspace()"
        )


def downgrade() -> None:
    """Refused while it would show what a workspace holds to everybody, or lose its keys."""
    online.refuse_while(
        "SELECT FROM workspaces WHERE name <> 'default' UNION ALL SELECT FROM api_keys",
        "There are API keys or several workspaces. The release before knows neither: everything would be"
        " open to everybody, and the keys would be lost. Restore a backup of that release, or delete the"
        " other workspaces' data, the workspaces and the keys first.",
    )
    for table in (*ON_MATRICES, "matrices"):
        op.execute(f"DROP TRIGGER stay ON {table}")
    op.execute("DROP FUNCTION guard_workspace()")
    for table in ON_MATRICES:
        op.drop_constraint(f"fk_{table}_matrix_id_workspace", table)
    op.drop_constraint("uq_matrices_id_workspace", "matrices")
    op.drop_column("matrices", "stored_bytes")
    op.drop_constraint("pk_idempotency_keys", "idempotency_keys")
    op.create_primary_key(op.f("pk_idempotency_keys"), "idempotency_keys", ["key"])
    for table in LISTED:
        op.drop_index(f"ix_{table}_workspace_id", table)
    for table in ROOTS:
        op.drop_column(table, "workspace")
    op.drop_table("api_keys")
    op.drop_table("workspaces")
