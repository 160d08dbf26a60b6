"""The tables. Triggers and their functions live in the migrations beside them.

workspaces ─┬─ matrices ─┬─ matrix_revisions ── jobs ── parts
            │            ├─ matrix_rows
            ├─ model_facts
            │            ├─ selections ── answers
            │            └─ sessions ── session_answers
            ├─ webhooks ── deliveries
            ├─ idempotency_keys
            └─ api_keys
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Id = Uuid(as_uuid=False)
Moment = DateTime(timezone=True)
Exact = Text(collation="C")

workspaces = Table(
    "workspaces",
    metadata,
    Column("name", Text, primary_key=True),
    Column("created_at", Moment, nullable=False),
    # Computing seconds, on the scale of service.store.fair_queue.
    Column("queue_start", Double, nullable=False, server_default="0"),
    Column("queue_finish", Double, nullable=False, server_default="0"),
    Index("ix_workspaces_queue_start", "queue_start"),
    CheckConstraint("name ~ '^[a-z0-9][a-z0-9-]{0,62}$'", name="name"),
)


def _workspace(*, primary_key: bool = False) -> Column[str]:
    """The workspace of a root row; releases without workspaces write to the default one."""
    return Column(
        "workspace",
        Text,
        ForeignKey(workspaces.c.name),
        primary_key=primary_key,
        nullable=False,
        server_default="default",
    )


api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("workspace", Text, ForeignKey(workspaces.c.name), nullable=False),
    Column("name", Text, nullable=False),
    Column("secret_sha256", LargeBinary, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("revoked_at", Moment),
    Column("last_used_at", Moment),
    CheckConstraint("cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'admin']", name="scopes"),
)

matrices = Table(
    "matrices",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("n_examples", Integer, nullable=False),
    Column("examples", LargeBinary, nullable=False),
    Column("subtasks", JSONB, nullable=False),
    Column("strata", LargeBinary, nullable=False),
    Column("embeddings", LargeBinary),
    Column("header_sha256", LargeBinary, nullable=False),
    # Lowest and highest score of each example, so that adding a model does not need to read all rows.
    Column("bounds", LargeBinary, nullable=False),
    # The tool's own ids of the examples; not part of the content, so not part of the hash.
    Column("origin", LargeBinary),
    _workspace(),
    Column("stored_bytes", BigInteger, nullable=False, server_default="0"),
    UniqueConstraint("id", "workspace"),
    Index("ix_matrices_workspace_id", "workspace", "id"),
)

matrix_revisions = Table(
    "matrix_revisions",
    metadata,
    Column("matrix_id", Id, ForeignKey(matrices.c.id, ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("n_models", Integer, nullable=False),
    Column("binary", Boolean, nullable=False),
    Column("missing_cells", Integer, nullable=False),
    Column("constant_examples", Integer, nullable=False),
    Column("has_confidences", Boolean, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
)

matrix_rows = Table(
    "matrix_rows",
    metadata,
    Column("matrix_id", Id, ForeignKey(matrices.c.id, ondelete="CASCADE"), primary_key=True),
    Column("model", Exact, primary_key=True),
    Column("valid_from", Integer, primary_key=True),
    Column("valid_to", Integer),
    Column("binary", Boolean, nullable=False),
    Column("scored", Integer, nullable=False),
    Column("accuracy", Double),
    Column("sha256", LargeBinary, nullable=False),
    Column("scores", LargeBinary, nullable=False),
    Column("missing", LargeBinary),
    Column("confidences", LargeBinary),
    # What the log says in addition to the scores; not part of the content. Null in rows of earlier releases.
    Column("errored", Integer),
    Column("unscored", Integer),
    Column("not_run", Integer),
    Column("answers", BigInteger),
    Column("reported", Double),
    Column("states", LargeBinary),
    Column("repeats", LargeBinary),
    # Every attempt, where a cell has several; part of the content.
    Column("attempts", LargeBinary),
    CheckConstraint("valid_to > valid_from", name="validity"),
    Index(
        "uq_matrix_rows_current", "matrix_id", "model", unique=True, postgresql_where=text("valid_to IS NULL")
    ),
)

model_facts = Table(
    "model_facts",
    metadata,
    Column("matrix_id", Id, ForeignKey(matrices.c.id, ondelete="CASCADE"), primary_key=True),
    Column("model", Exact, primary_key=True),
    Column("family", Text),
    Column("released", Date),
    Column("tags", ARRAY(Text), nullable=False, server_default="{}"),
)

FINAL = "('succeeded', 'failed', 'cancelled')"

jobs = Table(
    "jobs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("settings", JSONB, nullable=False),
    Column("matrix_id", Id, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("request_hash", Text, nullable=False),
    Column("parts_total", Integer, nullable=False),
    Column("parts_done", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("deadline_at", Moment),
    Column("cancel_requested", Boolean, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("finished_at", Moment),
    Column("error", JSONB(none_as_null=True)),
    Column("result", LargeBinary),
    # Estimated computing time of one part.
    Column("part_seconds", Double, nullable=False, server_default="1"),
    # What a select job chose; rows of earlier releases get it from their result (see retention).
    Column("selection_id", Id),
    # Headers of the request: its id and its trace context.
    Column("asked_by", JSONB(none_as_null=True)),
    _workspace(),
    ForeignKeyConstraint(
        ["matrix_id", "revision"],
        [matrix_revisions.c.matrix_id, matrix_revisions.c.revision],
    ),
    ForeignKeyConstraint(["matrix_id", "workspace"], [matrices.c.id, matrices.c.workspace]),
    Index("ix_jobs_workspace_id", "workspace", "id"),
    CheckConstraint("status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name="status"),
    CheckConstraint("(status = 'succeeded') = (result IS NOT NULL)", name="result_if_succeeded"),
    CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name="error_if_failed"),
    CheckConstraint(f"(status IN {FINAL}) = (finished_at IS NOT NULL)", name="finished_if_final"),
    CheckConstraint("status <> 'cancelled' OR cancel_requested", name="cancelled_on_request"),
    CheckConstraint("status <> 'succeeded' OR parts_done = parts_total", name="succeeded_if_complete"),
    CheckConstraint("status NOT IN ('running', 'succeeded') OR started_at IS NOT NULL", name="started"),
    CheckConstraint("parts_total > 0 AND parts_done BETWEEN 0 AND parts_total", name="parts"),
    CheckConstraint("max_attempts > 0", name="max_attempts"),
    Index("ix_jobs_matrix_id_revision", "matrix_id", "revision"),
    Index("ix_jobs_workspace_kind_status_id", "workspace", "kind", "status", "id"),
    Index("ix_jobs_workspace_status_id", "workspace", "status", "id"),
    Index(
        "uq_jobs_request",
        "request_hash",
        unique=True,
        postgresql_where=text("status IN ('queued', 'running', 'succeeded') AND NOT cancel_requested"),
    ),
    Index("ix_jobs_finished_at", "finished_at", postgresql_where=text("finished_at IS NOT NULL")),
    Index("ix_jobs_selection_id", "selection_id", postgresql_where=text("selection_id IS NOT NULL")),
    Index(
        "ix_jobs_unlinked",
        "id",
        postgresql_where=text("kind = 'select' AND status = 'succeeded' AND selection_id IS NULL"),
    ),
    Index(
        "ix_jobs_unfinished_by_workspace",
        "workspace",
        "status",
        "id",
        postgresql_where=text("status IN ('queued', 'running')"),
    ),
    Index("ix_jobs_unfinished", "id", postgresql_where=text("status IN ('queued', 'running')")),
)

# Part number `parts_total` is the assembly; it waits until the others are done.
parts = Table(
    "parts",
    metadata,
    Column("job_id", Id, ForeignKey(jobs.c.id, ondelete="CASCADE"), primary_key=True),
    Column("index", Integer, primary_key=True),
    Column("role", Text, nullable=False),
    # A part waits until all of earlier stages are done; its work depends on their results.
    Column("stage", SmallInteger, nullable=False, server_default=text("1")),
    Column("status", Text, nullable=False),
    Column("spec", JSONB, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("available_at", Moment, nullable=False),
    Column("lease_until", Moment),
    # Its name in the database is of an earlier release, whose workers still write it during an upgrade.
    Column("rung_at", Moment, key="notified_at"),
    Column("fraction", Double, nullable=False),
    Column("worker", Text),
    Column("last_failure", Text),
    Column("result", LargeBinary),
    CheckConstraint("role IN ('compute', 'assemble')", name="role"),
    CheckConstraint(
        "status IN ('waiting', 'queued', 'running', 'done', 'failed', 'cancelled')", name="status"
    ),
    CheckConstraint(
        "status <> 'waiting' OR role = 'assemble' OR stage > 1", name="first_stage_does_not_wait"
    ),
    CheckConstraint("(status = 'running') = (lease_until IS NOT NULL)", name="lease_if_running"),
    CheckConstraint("result IS NULL OR status = 'done'", name="result_if_done"),
    CheckConstraint("fraction BETWEEN 0 AND 1", name="fraction"),
    CheckConstraint("failures BETWEEN 0 AND attempt", name="failures"),
    Index(
        "ix_parts_open",
        "job_id",
        "index",
        postgresql_where=text("status IN ('queued', 'running')"),
    ),
    Index("ix_parts_running", "job_id", postgresql_where=text("status = 'running'")),
    Index("ix_parts_failures", "failures", postgresql_where=text("failures > 0")),
    Index("ix_parts_queued_available_at", "available_at", postgresql_where=text("status = 'queued'")),
    postgresql_with={"fillfactor": "70"},
)

selections = Table(
    "selections",
    metadata,
    Column("id", Id, primary_key=True),
    Column("matrix_id", Id, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("method", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("body", JSONB, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    _workspace(),
    ForeignKeyConstraint(
        ["matrix_id", "revision"],
        [matrix_revisions.c.matrix_id, matrix_revisions.c.revision],
    ),
    ForeignKeyConstraint(["matrix_id", "workspace"], [matrices.c.id, matrices.c.workspace]),
    Index("ix_selections_matrix_id_revision", "matrix_id", "revision"),
    Index("ix_selections_workspace_id", "workspace", "id"),
)

comparisons = Table(
    "comparisons",
    metadata,
    Column("id", Id, primary_key=True),
    Column("matrix_id", Id, nullable=False),
    Column("selection_id", Id),
    # The answer of `/compare` as it was sent, without what names its own address.
    Column("body", LargeBinary, nullable=False),
    Column("created_at", Moment, nullable=False),
    _workspace(),
    ForeignKeyConstraint(
        ["matrix_id", "workspace"], [matrices.c.id, matrices.c.workspace], ondelete="CASCADE"
    ),
    Index("ix_comparisons_matrix_id", "matrix_id"),
    Index("ix_comparisons_workspace_id", "workspace", "id"),
    Index("ix_comparisons_created_at", "created_at"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    _workspace(primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("status", Integer, nullable=False),
    Column("headers", JSONB, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("ix_idempotency_keys_created_at", "created_at"),
)

maintenance = Table(
    "upkeep",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("reconciled_at", Moment),
    Column("checked_at", Moment),
    Column("swept_at", Moment),
    Column("leases_expired", BigInteger, nullable=False),
    Column("rings_repeated", BigInteger, nullable=False, key="notifications_repeated"),
    Column("violations", JSONB, nullable=False),
    # Task → how often it failed.
    Column("failures", JSONB, nullable=False, server_default="{}"),
    CheckConstraint("id = 1", name="one_row"),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Id, primary_key=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("previous_secret", Text),
    Column("previous_until", Moment),
    Column("created_at", Moment, nullable=False),
    _workspace(),
    # In a row, over all messages; what succeeds ends the row.
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("sending_until", Moment),
    Column("resting_until", Moment),
    Column("paused_at", Moment),
    CheckConstraint("(previous_secret IS NULL) = (previous_until IS NULL)", name="rotation"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Id, primary_key=True),
    Column("webhook_id", Id, ForeignKey(webhooks.c.id, ondelete="CASCADE"), nullable=False),
    Column("job_id", Id, nullable=False),
    Column("body", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("available_at", Moment, nullable=False),
    Column("delivered_at", Moment),
    Column("given_up_at", Moment),
    Column("last_failure", Text),
    Column("created_at", Moment, nullable=False),
    CheckConstraint("delivered_at IS NULL OR given_up_at IS NULL", name="one_end"),
    Index(
        "ix_deliveries_open",
        "available_at",
        postgresql_where=text("delivered_at IS NULL AND given_up_at IS NULL"),
    ),
    Index("ix_deliveries_webhook_id_created_at", "webhook_id", "created_at"),
)

answers = Table(
    "answers",
    metadata,
    Column("selection_id", Id, ForeignKey(selections.c.id, ondelete="CASCADE"), primary_key=True),
    Column("model", Exact, primary_key=True),
    Column("answers", LargeBinary, nullable=False),
    Column("created_at", Moment, nullable=False),
)

# `handed_out` examples of `order` were given to callers; `looks` holds what each look found.
sessions = Table(
    "sessions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("matrix_id", Id, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("settings", JSONB, nullable=False),
    Column("engine_version", Text, nullable=False),
    Column("order", LargeBinary, nullable=False),
    Column("sizes", LargeBinary),
    Column("clusters", LargeBinary),
    Column("handed_out", Integer, nullable=False),
    Column("looks", JSONB, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    _workspace(),
    ForeignKeyConstraint(
        ["matrix_id", "revision"],
        [matrix_revisions.c.matrix_id, matrix_revisions.c.revision],
    ),
    ForeignKeyConstraint(["matrix_id", "workspace"], [matrices.c.id, matrices.c.workspace]),
    CheckConstraint("status IN ('open', 'decided', 'exhausted', 'stopped', 'expired')", name="status"),
    CheckConstraint("handed_out >= 0", name="handed_out"),
    Index("ix_sessions_matrix_id_revision", "matrix_id", "revision"),
    Index("ix_sessions_workspace_id", "workspace", "id"),
    Index("ix_sessions_updated_at", "updated_at"),
)

# One row an example answered, by its place in the session's order; without a score where it has none.
session_answers = Table(
    "session_answers",
    metadata,
    Column("session_id", Id, ForeignKey(sessions.c.id, ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("score", Double),
    CheckConstraint("place >= 0", name="place"),
    CheckConstraint("score BETWEEN 0 AND 1", name="score"),
)
