"""Limits every statement to the rows of one workspace; this is the only place that does.

A workspace owns the root tables: matrices, jobs, selections, comparisons, webhooks and idempotency keys.
All other rows belong to a root row and are queried by an id that was found in a root table.

Two things hold it. Postgres itself, by row-level security, for the role the API connects as (see
`api_role`): a statement finds no other workspace's rows, whatever it forgets. And before that, as a lint:

`within` returns an engine that is bound to one workspace; the API uses only such engines for its
callers. Every statement on a root table must name the workspace of its connection by `mine`; a statement
that does not is refused here before it is sent. Workers, the reconciler and the operator's commands
serve all workspaces: their engines are not bound, and rows that they add belong to the workspace of
their matrix.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sqlalchemy import ColumnElement, Connection, Engine, Table, event, true

from service.core.api_keys import DEFAULT_WORKSPACE

DEFAULT = DEFAULT_WORKSPACE
ANONYMOUS = ""
"""The workspace of requests to public routes, which have no key; it is always empty."""

ROOTS = frozenset(
    {"matrices", "jobs", "selections", "comparisons", "sessions", "webhooks", "idempotency_keys", "api_keys"}
)

EVERYONES = "of_everyone"
"""A root table with this alias may be read across workspaces, for counts that reveal no names."""

_OPTION = "workspace"
_NAMES = "|".join(sorted(ROOTS))
_LITERALS = re.compile(r"--[^\n]*|'[^']*'")
_ADDED = re.compile(rf"\bINTO\s+(?:{_NAMES})\s*\(([^)]*)\)", re.IGNORECASE)
_NAMED = re.compile(rf"(?<!\w)({_NAMES})(?![.\w])(?:\s+AS\s+(\w+))?", re.IGNORECASE)


class Unscoped(Exception):
    """A statement on a root table does not name a workspace, which is a defect of the service."""


def within(engine: Engine, workspace: str) -> Engine:
    """The same engine, with connections that are bound to this workspace."""
    bound = engine.execution_options(**{_OPTION: workspace})
    event.listen(bound, "before_cursor_execute", _guard)
    event.listen(bound, "begin", _name_workspace)
    return bound


def _name_workspace(conn: Connection) -> None:
    """For the policies of row-level security, until the transaction ends."""
    conn.exec_driver_sql(
        "SELECT set_config('tastetest.workspace', %s, true)", (workspace(conn) or ANONYMOUS,)
    )


def workspace(conn: Connection) -> str | None:
    """The workspace that this connection is bound to; None if it serves all."""
    found: str | None = conn.get_execution_options().get(_OPTION)
    return found


def owner(conn: Connection) -> str:
    """The workspace of root rows that this connection adds."""
    bound = workspace(conn)
    return DEFAULT if bound is None else bound


def mine(conn: Connection, root: Table) -> ColumnElement[bool]:
    """The condition that rows of a root table belong to this connection's workspace."""
    bound = workspace(conn)
    return true() if bound is None else root.c.workspace == bound


def _guard(conn: Connection, cursor: object, statement: str, *_: object) -> None:
    if not scoped(statement):
        raise Unscoped(statement)


@lru_cache(maxsize=2048)
def scoped(statement: str) -> bool:
    """Whether an SQL statement sets or compares the workspace of every root table that it mentions."""
    statement_text = _LITERALS.sub("", statement)
    if any("workspace" not in added.group(1) for added in _ADDED.finditer(statement_text)):
        return False
    names = [found.group(2) or found.group(1) for found in _NAMED.finditer(_ADDED.sub("", statement_text))]
    return all(
        name == EVERYONES or names.count(name) <= len(re.findall(rf"\b{name}\.workspace = ", statement_text))
        for name in names
    )
