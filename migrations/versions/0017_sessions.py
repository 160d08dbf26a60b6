"""Sessions: answers a batch at a time, until a question is decided."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from migrations import online

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

NAMED = "(SELECT current_setting('tastetest.workspace', true))"
POLICIES = {
    "sessions": f"workspace = {NAMED}",
    "session_answers": "EXISTS (SELECT FROM sessions r WHERE r.id = session_answers.session_id)",
}


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("matrix_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("settings", JSONB(), nullable=False),
        sa.Column("engine_version", sa.Text(), nullable=False),
        sa.Column("order", sa.LargeBinary(), nullable=False),
        sa.Column("sizes", sa.LargeBinary(), nullable=True),
        sa.Column("clusters", sa.LargeBinary(), nullable=True),
        sa.Column("handed_out", sa.Integer(), nullable=False),
        sa.Column("looks", JSONB(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("workspace", sa.Text(), server_default="default", nullable=False),
        sa.CheckConstraint(
            "status IN ('open', 'decided', 'exhausted', 'stopped', 'expired')",
            name=op.f("ck_sessions_status"),
        ),
        sa.CheckConstraint("handed_out >= 0", name=op.f("ck_sessions_handed_out")),
        sa.ForeignKeyConstraint(
            ["matrix_id", "revision"],
            ["matrix_revisions.matrix_id", "matrix_revisions.revision"],
            name=op.f("fk_sessions_matrix_id_revision"),
        ),
        sa.ForeignKeyConstraint(
            ["matrix_id", "workspace"],
            ["matrices.id", "matrices.workspace"],
            name=op.f("fk_sessions_matrix_id_workspace"),
        ),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_sessions_workspace")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index("ix_sessions_matrix_id_revision", "sessions", ["matrix_id", "revision"])
    op.create_index("ix_sessions_workspace_id", "sessions", ["workspace", "id"])
    op.create_index("ix_sessions_updated_at", "sessions", ["updated_at"])
    op.create_table(
        "session_answers",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.CheckConstraint("place >= 0", name=op.f("ck_session_answers_place")),
        sa.CheckConstraint("score BETWEEN 0 AND 1", name=op.f("ck_session_answers_score")),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.id"],
            name=op.f("fk_session_answers_session_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("session_id", "place", name=op.f("pk_session_answers")),
    )
    for table, condition in POLICIES.items():
        online.alone(
            f"DROP POLICY IF EXISTS own_workspace ON {table}",
            f"CREATE POLICY own_workspace ON {table} USING ({condition}) WITH CHECK ({condition})",
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        )


def downgrade() -> None:
    op.drop_table("session_answers")
    op.drop_table("sessions")
