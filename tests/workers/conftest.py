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
