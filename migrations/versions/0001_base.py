"""Matrices, jobs with parts, selections; the legal life of a job as triggers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Packed bits and zstd do not compress again: only try where it pays.
STORAGE = """
ALTER TABLE matrices ALTER COLUMN examples SET STORAGE EXTERNAL, ALTER COLUMN strata SET STORAGE EXTERNAL,
    ALTER COLUMN embeddings SET STORAGE EXTERNAL, ALTER COLUMN bounds SET STORAGE EXTERNAL;
ALTER TABLE matrix_rows ALTER COLUMN scores SET STORAGE EXTERNAL, ALTER COLUMN missing SET STORAGE EXTERNAL,
    ALTER COLUMN confidences SET STORAGE EXTERNAL;
ALTER TABLE parts ALTER COLUMN result SET STORAGE EXTERNAL;
"""

# What no query may do, whoever writes it: these hold for psql too.
GUARDS = """
CREATE FUNCTION guard_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'queued' OR NEW.cancel_requested OR NEW.parts_done <> 0 THEN
            RAISE EXCEPTION 'job %: starts queued, with nothing done', NEW.id
                USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.status IN ('succeeded', 'failed', 'cancelled') THEN
        RAISE EXCEPTION 'job %: % is final', OLD.id, OLD.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
        ('queued', 'running'), ('queued', 'failed'), ('queued', 'cancelled'),
        ('running', 'queued'), ('running', 'succeeded'), ('running', 'failed'), ('running', 'cancelled')
    ) THEN
        RAISE EXCEPTION 'job %: % cannot become %', OLD.id, OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    IF (NEW.id, NEW.kind, NEW.settings, NEW.matrix_id, NEW.revision, NEW.request_hash, NEW.parts_total,
            NEW.max_attempts, NEW.created_at)
        IS DISTINCT FROM (OLD.id, OLD.kind, OLD.settings, OLD.matrix_id, OLD.revision, OLD.request_hash,
            OLD.parts_total, OLD.max_attempts, OLD.created_at) THEN
        RAISE EXCEPTION 'job %: what was asked cannot change', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.cancel_requested AND NOT NEW.cancel_requested) OR NEW.parts_done < OLD.parts_done
        OR NEW.started_at IS DISTINCT FROM COALESCE(OLD.started_at, NEW.started_at) THEN
        RAISE EXCEPTION 'job %: progress cannot be taken back', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION guard_job();

CREATE FUNCTION guard_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status = 'queued' AND NEW.role = 'compute' AND NEW.attempt = 0
            OR NEW.status = 'waiting' AND NEW.role = 'assemble' AND NEW.attempt = 0 THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'part %/%: starts unclaimed', NEW.job_id, NEW.index USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = OLD.status THEN
        IF OLD.status IN ('waiting', 'failed', 'cancelled')
            OR (OLD.status = 'done' AND NEW.result IS NOT NULL) THEN
            RAISE EXCEPTION 'part %/%: a % part does not change', OLD.job_id, OLD.index, OLD.status
                USING ERRCODE = 'check_violation';
        END IF;
    ELSIF (OLD.status, NEW.status) NOT IN (
        ('waiting', 'running'), ('waiting', 'cancelled'), ('queued', 'running'), ('queued', 'cancelled'),
        ('running', 'queued'), ('running', 'done'), ('running', 'failed'), ('running', 'cancelled')
    ) THEN
        RAISE EXCEPTION 'part %/%: % cannot become %', OLD.job_id, OLD.index, OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    ELSIF OLD.status = 'waiting' AND NEW.status = 'running' AND EXISTS (
        SELECT FROM parts WHERE job_id = OLD.job_id AND role = 'compute' AND status <> 'done'
    ) THEN
        RAISE EXCEPTION 'part %/%: assembled before all others are done', OLD.job_id, OLD.index
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.attempt <> OLD.attempt + (NEW.status = 'running' AND OLD.status <> 'running')::int THEN
        RAISE EXCEPTION 'part %/%: every claim is one attempt', OLD.job_id, OLD.index
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON parts FOR EACH ROW EXECUTE FUNCTION guard_part();

CREATE FUNCTION guard_selection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'selection %: immutable', OLD.id USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER guard BEFORE UPDATE ON selections FOR EACH ROW EXECUTE FUNCTION guard_selection();
"""

# Equal notifications of one transaction are sent once.
NOTIFY = """
CREATE FUNCTION tell_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tastetest_jobs', NEW.id::text);
    RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION tell_job();

CREATE FUNCTION tell_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tastetest_jobs', NEW.job_id::text);
    RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER UPDATE ON parts FOR EACH ROW
    WHEN (OLD.status <> NEW.status OR OLD.fraction <> NEW.fraction) EXECUTE FUNCTION tell_part();
"""


def upgrade() -> None:
    op.create_table(
        "matrices",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("n_examples", sa.Integer(), nullable=False),
        sa.Column("examples", sa.LargeBinary(), nullable=False),
        sa.Column("subtasks", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("strata", sa.LargeBinary(), nullable=False),
        sa.Column("embeddings", sa.LargeBinary(), nullable=True),
        sa.Column("header_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("bounds", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_matrices")),
    )
    op.create_table(
        "matrix_revisions",
        sa.Column("matrix_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("n_models", sa.Integer(), nullable=False),
        sa.Column("binary", sa.Boolean(), nullable=False),
        sa.Column("missing_cells", sa.Integer(), nullable=False),
        sa.Column("constant_examples", sa.Integer(), nullable=False),
        sa.Column("has_confidences", sa.Boolean(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["matrix_id"], ["matrices.id"], name=op.f("fk_matrix_revisions_matrix_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("matrix_id", "revision", name=op.f("pk_matrix_revisions")),
    )
    op.create_table(
        "matrix_rows",
        sa.Column("matrix_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("model", sa.Text(collation="C"), nullable=False),
        sa.Column("valid_from", sa.Integer(), nullable=False),
        sa.Column("valid_to", sa.Integer(), nullable=True),
        sa.Column("binary", sa.Boolean(), nullable=False),
        sa.Column("scored", sa.Integer(), nullable=False),
        sa.Column("accuracy", sa.Double(), nullable=True),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("scores", sa.LargeBinary(), nullable=False),
        sa.Column("missing", sa.LargeBinary(), nullable=True),
        sa.Column("confidences", sa.LargeBinary(), nullable=True),
        sa.CheckConstraint("valid_to > valid_from", name=op.f("ck_matrix_rows_validity")),
        sa.ForeignKeyConstraint(
            ["matrix_id"], ["matrices.id"], name=op.f("fk_matrix_rows_matrix_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("matrix_id", "model", "valid_from", name=op.f("pk_matrix_rows")),
    )
    op.create_index(
        "uq_matrix_rows_current",
        "matrix_rows",
        ["matrix_id", "model"],
        unique=True,
        postgresql_where=sa.text("valid_to IS NULL"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("settings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("matrix_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("request_hash", sa.Text(), nullable=False),
        sa.Column("parts_total", sa.Integer(), nullable=False),
        sa.Column("parts_done", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name=op.f("ck_jobs_error_if_failed")),
        sa.CheckConstraint(
            "(status = 'succeeded') = (result IS NOT NULL)", name=op.f("ck_jobs_result_if_succeeded")
        ),
        sa.CheckConstraint(
            "(status IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL)",
            name=op.f("ck_jobs_finished_if_final"),
        ),
        sa.CheckConstraint(
            "status <> 'cancelled' OR cancel_requested", name=op.f("ck_jobs_cancelled_on_request")
        ),
        sa.CheckConstraint(
            "status <> 'succeeded' OR parts_done = parts_total", name=op.f("ck_jobs_succeeded_if_complete")
        ),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name=op.f("ck_jobs_status")
        ),
        sa.CheckConstraint(
            "status NOT IN ('running', 'succeeded') OR started_at IS NOT NULL", name=op.f("ck_jobs_started")
        ),
        sa.CheckConstraint("max_attempts > 0", name=op.f("ck_jobs_max_attempts")),
        sa.CheckConstraint(
            "parts_total > 0 AND parts_done BETWEEN 0 AND parts_total", name=op.f("ck_jobs_parts")
        ),
        sa.ForeignKeyConstraint(
            ["matrix_id", "revision"],
            ["matrix_revisions.matrix_id", "matrix_revisions.revision"],
            name=op.f("fk_jobs_matrix_id_revision"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index("ix_jobs_matrix_id_revision", "jobs", ["matrix_id", "revision"], unique=False)
    op.create_index(
        "ix_jobs_unfinished",
        "jobs",
        ["id"],
        unique=False,
        postgresql_where=sa.text("status IN ('queued', 'running')"),
    )
    op.create_index(
        "uq_jobs_request",
        "jobs",
        ["request_hash"],
        unique=True,
        postgresql_where=sa.text("status IN ('queued', 'running', 'succeeded') AND NOT cancel_requested"),
    )
    op.create_table(
        "selections",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("matrix_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("body", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["matrix_id", "revision"],
            ["matrix_revisions.matrix_id", "matrix_revisions.revision"],
            name=op.f("fk_selections_matrix_id_revision"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_selections")),
    )
    op.create_index("ix_selections_matrix_id_revision", "selections", ["matrix_id", "revision"], unique=False)
    op.create_table(
        "parts",
        sa.Column("job_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("spec", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("available_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rung_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fraction", sa.Double(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("last_failure", sa.Text(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.CheckConstraint(
            "(status = 'running') = (lease_until IS NOT NULL)", name=op.f("ck_parts_lease_if_running")
        ),
        sa.CheckConstraint("result IS NULL OR status = 'done'", name=op.f("ck_parts_result_if_done")),
        sa.CheckConstraint("role IN ('compute', 'assemble')", name=op.f("ck_parts_role")),
        sa.CheckConstraint(
            "status <> 'waiting' OR role = 'assemble'", name=op.f("ck_parts_only_assembly_waits")
        ),
        sa.CheckConstraint(
            "status IN ('waiting', 'queued', 'running', 'done', 'failed', 'cancelled')",
            name=op.f("ck_parts_status"),
        ),
        sa.CheckConstraint("failures BETWEEN 0 AND attempt", name=op.f("ck_parts_failures")),
        sa.CheckConstraint("fraction BETWEEN 0 AND 1", name=op.f("ck_parts_fraction")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_parts_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "index", name=op.f("pk_parts")),
        postgresql_with={"fillfactor": "70"},
    )
    op.create_index(
        "ix_parts_open",
        "parts",
        ["job_id", "index"],
        unique=False,
        postgresql_where=sa.text("status IN ('queued', 'running')"),
    )
    op.execute(STORAGE)
    op.execute(GUARDS)
    op.execute(NOTIFY)


def downgrade() -> None:
    for table in ("parts", "selections", "jobs", "matrix_rows", "matrix_revisions", "matrices"):
        op.drop_table(table)
    for function in ("guard_job", "guard_part", "guard_selection", "tell_job", "tell_part"):
        op.execute(f"DROP FUNCTION {function}()")
