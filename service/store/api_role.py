"""The role for callers' rows: it owns nothing, so that row-level security holds for it."""

from __future__ import annotations

import psycopg
from psycopg import sql
from sqlalchemy import Connection, Engine, make_url, text

# What only the operator's own connections touch.
_NOT_GRANTED = ("api_keys", "upkeep", "alembic_version")


class RoleNotMade(Exception):
    """The database's owner may not make a role; the text says what to do."""


def prepare(owner_url: str, api_url: str) -> None:
    """Make the role of `api_url` unless there is one, and give it what it needs on the tables there are.

    Raises
    ------
    RoleNotMade
        The owner may not make roles, and there is none.
    """
    api = make_url(api_url)
    owner = make_url(owner_url).set(drivername="postgresql").render_as_string(hide_password=False)
    name = sql.Identifier(str(api.username))
    with psycopg.connect(owner, connect_timeout=5) as conn:
        known = conn.execute("SELECT FROM pg_roles WHERE rolname = %s", [api.username]).fetchone()
        if known is None:
            secret = (
                sql.SQL(" PASSWORD {}").format(sql.Literal(api.password)) if api.password else sql.SQL("")
            )
            try:
                conn.execute(sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS").format(name) + secret)
            except psycopg.errors.InsufficientPrivilege as error:
                raise RoleNotMade(
                    f"The database's owner may not make the role {api.username!r}; make it with CREATE ROLE,"
                    " or leave TASTETEST_API_DATABASE_URL unset."
                ) from error
        conn.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(name))
        grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {}"
        conn.execute(sql.SQL(grant).format(name))
        for table in _NOT_GRANTED:
            revoke = sql.SQL("REVOKE ALL ON {} FROM {}")
            conn.execute(revoke.format(sql.Identifier(table), name))


def is_enforced(engine: Engine) -> bool:
    """Whether row-level security holds for this engine's role."""
    with engine.connect() as conn:
        return _active(conn)


def _active(conn: Connection) -> bool:
    return bool(conn.scalar(text("SELECT row_security_active('jobs')")))
