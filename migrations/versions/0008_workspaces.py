"""Workspaces, to which every root row belongs, and API keys.

What stands belongs to the workspace `default`, and so does what a server of the release before
writes while both run: it knows of no workspace.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ROOTS = ("matrices", "jobs", "selections", "webhooks", "idempotency_keys")
ON_MATRICES = ("jobs", "selections")
LISTED = ("matrices", "jobs", "selections")

GUARD = """
CREATE FUNCTION guard_workspace() RETURNS trigger LANGUAGE plpgsql AS $$
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
    op.create_table(
        "workspaces",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("name ~ '^[a-z0-9][a-z0-9-]{0,62}$'", name=op.f("ck_workspaces_name")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_workspaces")),
    )
    op.execute("INSERT INTO workspaces VALUES ('default', now())")
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
    )
    for table in ROOTS:
        op.add_column(table, sa.Column("workspace", sa.Text(), server_default="default", nullable=False))
        op.create_foreign_key(op.f(f"fk_{table}_workspace"), table, "workspaces", ["workspace"], ["name"])
    for table in LISTED:
        op.create_index(f"ix_{table}_workspace_id", table, ["workspace", "id"])
    op.drop_constraint("pk_idempotency_keys", "idempotency_keys")
    op.create_primary_key(op.f("pk_idempotency_keys"), "idempotency_keys", ["workspace", "key"])
    op.add_column("matrices", sa.Column("stored_bytes", sa.BigInteger(), server_default="0", nullable=False))
    op.execute(STORED)
    _keep_together()


def _keep_together() -> None:
    """Jobs and selections are where their matrix is, and nothing moves."""
    op.create_unique_constraint(op.f("uq_matrices_id_workspace"), "matrices", ["id", "workspace"])
    for table in ON_MATRICES:
        op.create_foreign_key(
            op.f(f"fk_{table}_matrix_id_workspace"),
            table,
            "matrices",
            ["matrix_id", "workspace"],
            ["id", "workspace"],
        )
    op.execute(GUARD)
    for table in (*ON_MATRICES, "matrices"):
        op.execute(
            f"CREATE TRIGGER stay BEFORE UPDATE OF workspace ON {table} FOR EACH ROW"
            " WHEN (OLD.workspace <> NEW.workspace) EXECUTE FUNCTION guard_workspace()"
        )


def downgrade() -> None:
    """Give the rows of all workspaces to whoever asks, as the release before does."""
    for table in (*ON_MATRICES, "matrices"):
        op.execute(f"DROP TRIGGER stay ON {table}")
    op.execute("DROP FUNCTION guard_workspace()")
    for table in ON_MATRICES:
        op.drop_constraint(f"fk_{table}_matrix_id_workspace", table)
    op.drop_constraint("uq_matrices_id_workspace", "matrices")
    op.drop_column("matrices", "stored_bytes")
    # Equal keys of several workspaces cannot stand side by side; a day's memory can be lost.
    op.execute("DELETE FROM idempotency_keys WHERE workspace <> 'default'")
    op.drop_constraint("pk_idempotency_keys", "idempotency_keys")
    op.create_primary_key(op.f("pk_idempotency_keys"), "idempotency_keys", ["key"])
    for table in LISTED:
        op.drop_index(f"ix_{table}_workspace_id", table)
    for table in ROOTS:
        op.drop_column(table, "workspace")
    op.drop_table("api_keys")
    op.drop_table("workspaces")
