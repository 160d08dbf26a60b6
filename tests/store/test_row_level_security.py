"""Postgres itself shows the API's role the rows of one workspace only, whatever a statement forgets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import ProgrammingError

from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.submit import submit
from service.store import (
    api_role,
    comparisons,
    jobs,
    matrices,
    selections,
    sessions,
    webhooks,
    workspace_scope,
)
from service.store.database import make_engine
from service.store.records import SessionOrder
from service.store.tables import metadata

# Nothing of a caller's is in these.
OF_NOBODY = {"workspaces", "upkeep"}
GUARDED = sorted(table.name for table in metadata.sorted_tables if table.name not in OF_NOBODY)


@pytest.fixture(scope="module")
def callers(api_postgres_url: str) -> Iterator[Engine]:
    """The API's engine, before it is bound."""
    engine = make_engine(api_postgres_url)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module", autouse=True)
def everything(db: Engine, callers: Engine) -> None:
    """A row in every table, of the first workspace; written as the API writes."""
    with db.begin() as conn:
        for name in ("first", "second"):
            conn.execute(sa.text("INSERT INTO workspaces (name, created_at) VALUES (:n, now())"), {"n": name})
        conn.execute(sa.text("INSERT INTO api_keys VALUES ('k', 'first', 'n', 's', ARRAY['read'], now())"))
    with workspace_scope.within(callers, "first").begin() as conn:
        made = Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]]))
        matrix = matrices.create(conn, made, name="m")
        conn.execute(
            sa.text("INSERT INTO model_facts (matrix_id, model) VALUES (:id, 'a')"), {"id": matrix.id}
        )
        webhooks.add(conn, url="https://1.1.1.1/", secret="s")
        job, _ = submit(conn, kind="errand", settings={}, matrix=matrix, parts=[{}, {}])
        selection = "5f9c7a52-6a0e-5d0b-9d52-000000000001"
        selections.add(
            conn, selection_id=selection, matrix_id=matrix.id, revision=1, method="random", size=1,
            body={}, content_hash="h",
        )  # fmt: skip
        comparisons.add(conn, b"{}", matrix_id=matrix.id, selection_id=None)
        order = SessionOrder(np.array([1, 0]), None, None)
        asked = sessions.add(
            conn, matrix=matrix, settings={"budget": 2}, engine_version="1", order=order, handed_out=1
        )
        sessions.add_answers(conn, asked, {0: 1.0})
        conn.execute(sa.text("INSERT INTO answers VALUES (:id, 'm', '', now())"), {"id": selection})
        conn.execute(
            sa.text(
                "INSERT INTO idempotency_keys (workspace, key, fingerprint, status, headers, body,"
                " created_at) VALUES ('first', 'k', '', 200, '{}', '', now())"
            )
        )
        lifecycle.cancel(conn, job.id)


def unguarded(callers: Engine, workspace: str) -> Connection:
    """A connection of the API's role that names a workspace and whose statements nobody checks."""
    conn = callers.connect()
    conn.execute(sa.text("SELECT set_config('tastetest.workspace', :name, true)"), {"name": workspace})
    return conn


@pytest.mark.parametrize("table", sorted(set(GUARDED) - {"api_keys"}))
def test_a_forgotten_condition_finds_nothing(callers: Engine, db: Engine, table: str) -> None:
    count = sa.text(f"SELECT count(*) FROM {table}")
    with db.connect() as conn:
        assert conn.scalar(count), "the owner sees it"
    with unguarded(callers, "first") as conn:
        assert conn.scalar(count), "so does its workspace"
    for other in ("second", ""):
        with unguarded(callers, other) as conn:
            assert conn.scalar(count) == 0
            assert conn.execute(sa.text(f"DELETE FROM {table}")).rowcount == 0
            conn.rollback()
    with callers.connect() as conn:
        assert conn.scalar(count) == 0, "nor does a connection that names none"


def test_keys_are_not_the_callers_to_read(callers: Engine) -> None:
    with unguarded(callers, "first") as conn, pytest.raises(ProgrammingError, match="permission denied"):
        conn.execute(sa.text("SELECT * FROM api_keys"))


def test_nothing_is_written_for_another_workspace(callers: Engine) -> None:
    insert = "INSERT INTO webhooks (id, url, secret, created_at, workspace) VALUES (gen_random_uuid(), 'u', 's', now(), 'first')"  # noqa: E501
    with unguarded(callers, "second") as conn, pytest.raises(ProgrammingError, match="row-level security"):
        conn.execute(sa.text(insert))


def test_a_connection_of_the_pool_does_not_keep_the_workspace(callers: Engine) -> None:
    with workspace_scope.within(callers, "first").begin() as conn:
        assert len(jobs.page(conn, None, 9).items) == 1
    with callers.connect() as conn:
        assert conn.scalar(sa.text("SELECT count(*) FROM jobs")) == 0


def test_every_table_has_a_policy(db: Engine) -> None:
    query = "SELECT relname FROM pg_class JOIN pg_policy ON polrelid = pg_class.oid WHERE relrowsecurity"
    with db.connect() as conn:
        assert sorted(conn.scalars(sa.text(query))) == GUARDED


def test_the_api_says_whether_it_is_in_force(callers: Engine, db: Engine) -> None:
    assert api_role.is_enforced(callers)
    assert not api_role.is_enforced(db)


def test_an_owner_who_may_not_make_roles_is_told(db: Engine, postgres_url: str) -> None:
    poor = sa.make_url(postgres_url).set(username="poor_owner").render_as_string(hide_password=False)
    with db.begin() as conn:
        conn.execute(sa.text("DROP ROLE IF EXISTS poor_owner"))
        conn.execute(sa.text("CREATE ROLE poor_owner LOGIN"))
    other = sa.make_url(postgres_url).set(username="never_made").render_as_string(hide_password=False)
    with pytest.raises(api_role.RoleNotMade, match="CREATE ROLE"):
        api_role.prepare(poor, other)
    with db.begin() as conn:
        conn.execute(sa.text("DROP ROLE poor_owner"))
