"""Parts of a later stage, which wait until all of the stage before are done."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

GUARD = """
CREATE OR REPLACE FUNCTION guard_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status = 'queued' AND NEW.role = 'compute' AND {first} AND NEW.attempt = 0
            OR NEW.status = 'waiting' AND {later} AND NEW.attempt = 0 THEN
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
        ('running', 'queued'), ('running', 'done'), ('running', 'failed'), ('running', 'cancelled'){opens}
    ) THEN
        RAISE EXCEPTION 'part %/%: % cannot become %', OLD.job_id, OLD.index, OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    ELSIF OLD.status = 'waiting' AND NEW.status = 'running' AND EXISTS (
        SELECT FROM parts WHERE job_id = OLD.job_id AND role = 'compute' AND status <> 'done'
    ) THEN
        RAISE EXCEPTION 'part %/%: assembled before all others are done', OLD.job_id, OLD.index
            USING ERRCODE = 'check_violation';{early}
    END IF;
    IF NEW.attempt <> OLD.attempt + (NEW.status = 'running' AND OLD.status <> 'running')::int THEN
        RAISE EXCEPTION 'part %/%: every claim is one attempt', OLD.job_id, OLD.index
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
"""

EARLY = """
    ELSIF OLD.status = 'waiting' AND NEW.status = 'queued' AND (OLD.role <> 'compute' OR EXISTS (
        SELECT FROM parts
        WHERE job_id = OLD.job_id AND role = 'compute' AND stage < OLD.stage AND status <> 'done'
    )) THEN
        RAISE EXCEPTION 'part %/%: begun before all of earlier stages are done', OLD.job_id, OLD.index
            USING ERRCODE = 'check_violation';"""

STAGED = GUARD.format(
    first="NEW.stage = 1",
    later="(NEW.role = 'assemble' OR NEW.stage > 1)",
    opens=",\n        ('waiting', 'queued')",
    early=EARLY,
)
BEFORE = GUARD.format(first="true", later="NEW.role = 'assemble'", opens="", early="")


def upgrade() -> None:
    # A constant default rewrites no row.
    op.add_column("parts", sa.Column("stage", sa.SmallInteger(), nullable=False, server_default=sa.text("1")))
    op.drop_constraint("ck_parts_only_assembly_waits", "parts")
    op.create_check_constraint(
        op.f("ck_parts_first_stage_does_not_wait"),
        "parts",
        "status <> 'waiting' OR role = 'assemble' OR stage > 1",
    )
    op.execute(STAGED)


def downgrade() -> None:
    # What an older release cannot finish ends; the job can be asked for again.
    op.execute("UPDATE parts SET status = 'cancelled' WHERE status = 'waiting' AND stage > 1")
    op.execute(BEFORE)
    op.drop_constraint("ck_parts_first_stage_does_not_wait", "parts")
    op.create_check_constraint(
        op.f("ck_parts_only_assembly_waits"), "parts", "status <> 'waiting' OR role = 'assemble'"
    )
    op.drop_column("parts", "stage")
