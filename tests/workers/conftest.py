from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from sqlalchemy import Engine

from tests.workers import kinds as kinds
from tests.workers.rig import Rig


@pytest.fixture
def rig(db: Engine, postgres_url: str, redis_url: str, tmp_path: Path) -> Iterator[Rig]:
    """A rig whose workers all end with the test."""
    # What other tests rang for with no worker about would be answered first.
    with redis.Redis(unix_socket_path=redis_url.removeprefix("redis+socket://")) as broker:
        broker.flushall()
    made = Rig(db, postgres_url, redis_url, tmp_path)
    yield made
    made.stop_all()
