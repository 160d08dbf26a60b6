from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from sqlalchemy import Engine

from service.jobs import broker
from tests.workers import kinds as kinds
from tests.workers.rig import Rig


@pytest.fixture
def rig(db: Engine, postgres_url: str, redis_url: str, tmp_path: Path) -> Iterator[Rig]:
    """A rig whose workers all end with the test."""
    _silence(redis_url)
    made = Rig(db, postgres_url, redis_url, tmp_path)
    yield made
    made.stop_all()


@pytest.fixture(scope="module")
def crew(
    db: Engine, postgres_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """A rig with one worker for the module, for tests that do it no harm."""
    _silence(redis_url)
    made = Rig(db, postgres_url, redis_url, tmp_path_factory.mktemp("crew"))
    made.worker(TASTETEST_WORKER_MEMORY_MIB="1024")
    yield made
    made.stop_all()


def _silence(redis_url: str) -> None:
    """Drop what other tests rang for with no worker about: it would be answered first."""
    with redis.Redis(unix_socket_path=redis_url.removeprefix("redis+socket://")) as connection:
        connection.delete(*broker.WORK_QUEUES, broker.CONTROL)
