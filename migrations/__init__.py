"""The schema's history, and the one way to bring a database up to date."""

from __future__ import annotations

import time
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, text

# Any fixed number will do; starters that migrate the same database queue on it.
_ADVISORY_LOCK = 7_355_608
_POLL_SECONDS = 0.1


def config(url: str | None = None, connection: Connection | None = None) -> Config:
    """Alembic's configuration for a database named by URL or by an open connection."""
    made = Config()
    made.set_main_option("script_location", str(Path(__file__).parent))
    if url is not None:
        made.attributes["url"] = url
    if connection is not None:
        made.attributes["connection"] = connection
    return made


def upgrade(url: str, revision: str = "head") -> None:
    """Migrate to the newest schema; several starters at once take turns."""
    engine = create_engine(url, connect_args={"connect_timeout": 5})
    try:
        with engine.connect() as guard:
            _wait_for_turn(guard)
            try:
                with engine.connect() as connection:
                    command.upgrade(config(connection=connection), revision)
            finally:
                guard.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _ADVISORY_LOCK})
                guard.commit()
    finally:
        engine.dispose()


def _wait_for_turn(guard: Connection) -> None:
    """Take the lock, asking again and again: a statement that waited inside the database would keep a
    snapshot, and whoever builds an index concurrently waits for every older snapshot.
    """
    while not guard.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": _ADVISORY_LOCK}):
        guard.rollback()
        time.sleep(_POLL_SECONDS)
    guard.commit()
