"""Run migrations on a given connection, or on DATABASE_URL; never wait long for a lock."""

from __future__ import annotations

import os

from alembic import context
from sqlalchemy import Connection, create_engine, pool, text

from service.store.tables import metadata

# A migration that waits for a lock makes every query behind it wait too: better to fail and try again.
LOCK_TIMEOUT = "3s"
STATEMENT_TIMEOUT = "120s"


def migrate(connection: Connection) -> None:
    """All steps in one transaction each, so that a failed one leaves the last good revision."""
    connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
    connection.execute(text(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'"))
    connection.commit()
    context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
    connection.commit()


given = context.config.attributes.get("connection")
if isinstance(given, Connection):
    migrate(given)
else:
    url = context.config.attributes.get("url") or os.environ.get("DATABASE_URL", "")
    engine = given or create_engine(url, poolclass=pool.NullPool)
    with engine.connect() as own:
        migrate(own)
