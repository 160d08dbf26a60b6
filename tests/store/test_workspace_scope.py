"""No statement on a root row leaves without the workspace it is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from service import store
from service.core.errors import NotFound
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.submit import submit
from service.store import jobs, matrices, selections, workspace_scope
from service.store.tables import metadata

OTHER = "other"


@pytest.fixture
def ours(db: Engine) -> Iterator[Connection]:
    with workspace_scope.within(db, workspace_scope.DEFAULT).connect() as conn:
        yield conn


@pytest.fixture
def theirs(db: Engine) -> Iterator[Connection]:
    with workspace_scope.within(db, OTHER).connect() as conn:
        conn.execute(
            sa.text("INSERT INTO workspaces VALUES (:name, now()) ON CONFLICT DO NOTHING"), {"name": OTHER}
        )
        yield conn


def tiny() -> Matrix:
    return Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]]))


def test_every_table_with_a_workspace_is_a_root() -> None:
    owned = {table.name for table in metadata.sorted_tables if "workspace" in table.c}
    assert owned == workspace_scope.ROOTS


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM jobs WHERE id = 1",
        "SELECT * FROM matrices JOIN matrix_revisions ON true WHERE matrices.id = 1",
        "SELECT * FROM jobs AS j WHERE jobs.workspace = 'a'",
        "SELECT * FROM jobs, webhooks WHERE jobs.workspace = 'a'",
        "SELECT * FROM jobs WHERE jobs.workspace = 'a' AND EXISTS (SELECT FROM jobs WHERE id = 2)",
        "SELECT * FROM selections WHERE name = 'selections.workspace = '",
        "UPDATE jobs SET status = 'cancelled' WHERE jobs.id = 1",
        "SELECT id FROM public.jobs",
        'SELECT id FROM "jobs"',
        "SELECT 1 -- it's\nFROM jobs -- it's",
        "DELETE FROM selections WHERE selections.id = 1",
        "INSERT INTO webhooks (id, url) VALUES (1, 2)",
    ],
)
def test_a_statement_that_names_no_workspace_is_refused(ours: Connection, statement: str) -> None:
    assert not workspace_scope.scoped(statement)
    with pytest.raises(workspace_scope.Unscoped):
        ours.execute(sa.text(statement))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM jobs WHERE jobs.workspace = 'a'",
        "SELECT id FROM jobs AS j WHERE j.workspace = 'a'",
        "INSERT INTO webhooks (id, workspace) VALUES (1, 2) RETURNING webhooks.id",
        "UPDATE parts SET status = 'x' WHERE parts.job_id = 1",
        "SELECT '/jobs/' FROM parts",
    ],
)
def test_what_names_it_passes(statement: str) -> None:
    assert workspace_scope.scoped(statement)


def test_the_driver_is_never_handed_a_root_past_the_guard() -> None:
    """Cursors of the driver itself, for COPY and binary rows, are not seen by the guard."""
    raw = re.compile(rf"\b(?:{'|'.join(workspace_scope.ROOTS)})\b")
    for path in Path(store.__path__[0]).glob("*.py"):
        text = path.read_text()
        if "driver_connection" in text:
            queries = re.findall(
                r"\"[^\"\n]*\b(?:COPY|FROM|UPDATE|INTO)\b[^\"\n]*\"|'[^'\n]*\bFROM\b[^'\n]*'", text
            )
            assert queries, path
            assert not [query for query in queries if raw.search(query)], path


def test_anothers_rows_are_unknown(ours: Connection, theirs: Connection) -> None:
    matrix = matrices.create(ours, tiny(), name="m")
    job, _ = submit(ours, kind="errand", settings={}, matrix=matrix, parts=[{}])
    ours.commit()
    for ask in (
        lambda: matrices.get(theirs, matrix.id),
        lambda: matrices.put_model(theirs, matrix.id, tiny()),
        lambda: matrices.delete(theirs, matrix.id),
        lambda: submit(theirs, kind="errand", settings={}, matrix=matrix, parts=[{}]),
        lambda: jobs.get(theirs, job.id),
        lambda: jobs.result(theirs, job.id),
        lambda: lifecycle.cancel(theirs, job.id),
    ):
        with pytest.raises(NotFound):
            ask()
    assert jobs.page(theirs, None, 10).items == matrices.page(theirs, None, 10).items == ()
    assert jobs.get(ours, job.id).id == job.id


def test_equal_data_in_two_workspaces_have_nothing_in_common(ours: Connection, theirs: Connection) -> None:
    made = [(conn, matrices.create(conn, tiny(), name="m")) for conn in (ours, theirs)]
    (_, mine), (_, yours) = made
    assert mine.content_hash == yours.content_hash
    found = [submit(conn, kind="errand", settings={}, matrix=matrix, parts=[{}]) for conn, matrix in made]
    assert [created for _, created in found] == [True, True]
    assert found[0][0].id != found[1][0].id


def test_what_a_worker_adds_belongs_where_its_matrix_does(db: Engine, theirs: Connection) -> None:
    matrix = matrices.create(theirs, tiny(), name="m")
    theirs.commit()
    chosen = "5f9c7a52-6a0e-5d0b-9d52-000000000001"
    with db.begin() as worker:
        selections.add(
            worker, selection_id=chosen, matrix_id=matrix.id, revision=1, method="random", size=1,
            body={}, content_hash="h",
        )  # fmt: skip
    assert selections.get(theirs, chosen).id == chosen
    with workspace_scope.within(db, workspace_scope.DEFAULT).connect() as ours, pytest.raises(NotFound):
        selections.get(ours, chosen)


def test_the_database_itself_keeps_a_job_where_its_matrix_is(db: Engine, ours: Connection) -> None:
    matrix = matrices.create(ours, tiny(), name="m")
    job, _ = submit(ours, kind="errand", settings={}, matrix=matrix, parts=[{}])
    ours.commit()
    with db.connect() as conn, pytest.raises(sa.exc.IntegrityError, match="stays in its workspace"):
        conn.execute(sa.text("UPDATE jobs SET workspace = 'elsewhere' WHERE id = :id"), {"id": job.id})


def test_nobody_owns_nothing(db: Engine) -> None:
    with workspace_scope.within(db, workspace_scope.ANONYMOUS).connect() as conn:
        assert matrices.page(conn, None, 10).items == ()
        with pytest.raises(sa.exc.IntegrityError, match="fk_matrices_workspace"):
            matrices.create(conn, tiny(), name="m")
