from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from pytest_alembic import Config
from pytest_alembic.runner import MigrationContext
from pytest_alembic.tests import (
    test_model_definitions_match_ddl as test_model_definitions_match_ddl,
)
from pytest_alembic.tests import test_single_head_revision as test_single_head_revision
from pytest_alembic.tests import test_up_down_consistency as test_up_down_consistency
from pytest_alembic.tests import test_upgrade as test_upgrade
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import OperationalError

import migrations

FOLDER = Path(migrations.__file__).parent


@pytest.fixture
def alembic_config() -> Config:
    return Config(config_options={"script_location": str(FOLDER)})


@pytest.fixture
def alembic_engine(empty_postgres_url: str) -> Iterator[Engine]:
    engine = create_engine(empty_postgres_url)
    with engine.begin() as conn:
        conn.execute(text("DROP SCHEMA public CASCADE; CREATE SCHEMA public"))
    yield engine
    engine.dispose()


def test_downgrade_leaves_nothing(alembic_runner: MigrationContext, alembic_engine: Engine) -> None:
    alembic_runner.migrate_up_to("heads")
    alembic_runner.migrate_down_to("base")
    left = text(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " AND relname NOT LIKE 'alembic%'"
        " UNION SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
    )
    with alembic_engine.connect() as conn:
        assert conn.scalars(left).all() == []


def test_several_starters_are_safe(alembic_engine: Engine, empty_postgres_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrations.upgrade, [empty_postgres_url] * 4))
    head = ScriptDirectory.from_config(migrations.config()).get_current_head()
    with alembic_engine.connect() as conn:
        assert conn.scalars(text("SELECT version_num FROM alembic_version")).all() == [head]


def test_a_migration_gives_up_rather_than_queue_behind_a_lock(
    alembic_engine: Engine, empty_postgres_url: str
) -> None:
    with alembic_engine.connect() as conn:
        conn.execute(text("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)"))
        conn.commit()
        conn.execute(text("LOCK TABLE alembic_version"))
        with pytest.raises(OperationalError, match="lock timeout"):
            migrations.upgrade(empty_postgres_url)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO workspaces VALUES ('other', now())",
        "INSERT INTO api_keys VALUES ('k', 'default', 'n', 's', ARRAY['read'], now())",
    ],
)
def test_a_downgrade_that_would_merge_workspaces_or_drop_keys_is_refused(
    alembic_runner: MigrationContext, alembic_engine: Engine, statement: str
) -> None:
    alembic_runner.migrate_up_to("heads")
    with alembic_engine.begin() as conn:
        conn.execute(text(statement))
    with pytest.raises(RuntimeError, match="API keys or several workspaces"):
        alembic_runner.migrate_down_to("0007")
    with alembic_engine.begin() as conn:
        assert conn.scalar(text("SELECT count(*) FROM workspaces")) >= 1


def test_a_migration_whose_index_could_not_be_built_can_be_run_again(
    alembic_runner: MigrationContext, alembic_engine: Engine
) -> None:
    """All that precedes an index built concurrently is committed before: it is met again."""
    for revision, before in (("0005", "0004"), ("0008", "0007"), ("0013", "0012")):
        alembic_runner.migrate_up_to(revision)
        with alembic_engine.begin() as conn:
            conn.execute(text("UPDATE alembic_version SET version_num = :before"), {"before": before})
        alembic_runner.migrate_up_to(revision)


def test_the_package_ships_its_scripts() -> None:
    assert (FOLDER / "env.py").exists()
    assert (FOLDER / "versions" / "__init__.py").exists()
