"""The schema's history, and the one way to bring a database up to date."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, text

# Any fixed number will do; starters that migrate the same database queue on it.
_ADVISORY_LOCK = 7_355_608


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
            guard.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _ADVISORY_LOCK})
            # The guard's own transaction must not keep an old snapshot while others change the schema.
            guard.commit()
            try:
                with engine.connect() as connection:
                    command.upgrade(config(connection=connection), revision)
            finally:
                guard.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _ADVISORY_LOCK})
                guard.commit()
    finally:
        engine.dispose()
