from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.workers import kinds as kinds
from tests.workers.rig import Rig


@pytest.fixture
def rig(db: Engine, postgres_url: str, redis_url: str, tmp_path: Path) -> Iterator[Rig]:
    """A rig whose workers all end with the test."""
    made = Rig(db, postgres_url, redis_url, tmp_path)
    yield made
    made.stop_all()


@pytest.fixture(scope="module")
def crew(
    db: Engine, postgres_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """A rig with one worker for the module, for tests that do it no harm."""
    made = Rig(db, postgres_url, redis_url, tmp_path_factory.mktemp("crew"))
    made.worker(TASTETEST_WORKER_MEMORY_MIB="1024")
    yield made
    made.stop_all()
