"""Real servers for every test: Postgres and Valkey from wheels, one of each a session."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from threadpoolctl import threadpool_limits

import migrations
from service.cli import default_stack
from service.store import api_role
from service.store.database import make_engine

_numbers = itertools.count()


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """As in the workers: on small arrays several threads only wait for one another."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The data beside the project, for tests against published numbers."""
    folder = Path(__file__).parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared (published tables and sample logs), which is not here")
    return folder


@pytest.fixture(scope="session")
def _server() -> Iterator[str]:
    # Not in pytest's folder: a second session closes that to the user Postgres runs as under root.
    with (
        tempfile.TemporaryDirectory(prefix="tastetest-") as folder,
        default_stack.postgres(Path(folder)) as url,
    ):
        # A test's database need not outlive the machine, and disks differ in what a flush costs.
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            _run(url, f"ALTER SYSTEM SET {setting} = off")
        _run(url, "SELECT pg_reload_conf()")
        yield url


@pytest.fixture(scope="session")
def _template(_server: str) -> str:
    url = _create_database(_server, "template")
    migrations.upgrade(url)
    return _server


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Valkey for the session."""
    with default_stack.valkey(tmp_path_factory.mktemp("valkey")) as url:
        yield url


@pytest.fixture(scope="module")
def postgres_url(_template: str) -> Iterator[str]:
    """A fresh, migrated database for the module."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    yield _create_database(_template, name, template="template")
    _run(_template, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def api_postgres_url(postgres_url: str) -> str:
    """The module's database as the API's role sees it."""
    url = sa.make_url(postgres_url).set(username="tastetest_api").render_as_string(hide_password=False)
    api_role.prepare(postgres_url, url)
    return url


@pytest.fixture(scope="module")
def empty_postgres_url(_server: str) -> Iterator[str]:
    """A fresh database with nothing in it."""
    name = f"empty_{os.getpid()}_{next(_numbers)}"
    yield _create_database(_server, name)
    _run(_server, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def db(postgres_url: str) -> Iterator[sa.Engine]:
    """An engine on the module's database."""
    engine = make_engine(postgres_url)
    yield engine
    engine.dispose()


def _create_database(server: str, name: str, template: str = "template1") -> str:
    _run(server, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return sa.make_url(server).set(database=name).render_as_string(hide_password=False)


def _run(server: str, statement: str) -> None:
    engine = sa.create_engine(
        sa.make_url(server).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()
