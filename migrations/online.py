"""Changes to large tables while others read and write them.

An index is built concurrently and a constraint is validated after it was added, so that no lock that
keeps writers out is held for longer than a moment. Each step has a transaction of its own and can be
done again: what a failed attempt left behind is replaced.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op


def alone(*statements: str) -> None:
    """Statements that lock a table, each in a transaction of its own: with locks on two tables at once a
    migration and somebody who writes to both could wait for one another.
    """
    with op.get_context().autocommit_block():
        for statement in statements:
            op.execute(statement)


def add_column(table: str, column: sa.Column[Any]) -> None:
    """Add a column by itself, unless it is there."""
    with op.get_context().autocommit_block():
        op.add_column(table, column, if_not_exists=True)


def create_index(
    name: str, table: str, columns: Sequence[str], *, unique: bool = False, where: str = ""
) -> None:
    """Build an index without keeping writers out."""
    kind = "UNIQUE INDEX" if unique else "INDEX"
    condition = f" WHERE {where}" if where else ""
    # It waits for transactions that are older, holding nothing that others need.
    with _by_itself(lock_timeout="0"):
        # One that a failed attempt left is invalid.
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        op.execute(f"CREATE {kind} CONCURRENTLY {name} ON {table} ({', '.join(columns)}){condition}")


def drop_index(name: str) -> None:
    """Drop an index without waiting in front of others."""
    with _by_itself():
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def add_foreign_key(
    name: str, table: str, columns: Sequence[str], other: str, theirs: Sequence[str], ondelete: str = ""
) -> None:
    """Add a foreign key for new rows at once, and for those there are by a scan that locks nobody out."""
    action = f" ON DELETE {ondelete}" if ondelete else ""
    add = (
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({', '.join(columns)})"
        f" REFERENCES {other} ({', '.join(theirs)}){action} NOT VALID"
    )
    with _by_itself():
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}")
        op.execute(add)
        op.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")


def refuse_while(condition: str, message: str) -> None:
    """Refuse to go on while a query finds rows.

    Raises
    ------
    RuntimeError
        It does; the text says what would be lost.
    """
    if op.get_bind().scalar(sa.text(f"SELECT EXISTS ({condition})")):
        raise RuntimeError(message)


@contextlib.contextmanager
def _by_itself(lock_timeout: str | None = None) -> Iterator[None]:
    """Outside a transaction, and for as long as it takes: what is done here keeps nobody waiting."""
    with op.get_context().autocommit_block():
        bind = op.get_bind()
        names = ("statement_timeout", "lock_timeout")
        before = {name: bind.scalar(sa.text(f"SHOW {name}")) for name in names}
        op.execute("SET statement_timeout = 0")
        if lock_timeout is not None:
            op.execute(f"SET lock_timeout = '{lock_timeout}'")
        try:
            yield
        finally:
            for name, value in before.items():
                op.execute(f"SET {name} = '{value}'")
