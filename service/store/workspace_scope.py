"""Whose rows a statement may touch: the one place where queries are scoped.

A workspace owns the roots: matrices, jobs, selections, webhooks and idempotency keys. All other rows
hang on one of them, and are asked for by an id that was found in a root.

Two things hold it. Postgres itself, by row-level security, for the role the API connects as (see
`api_role`): a statement finds no other workspace's rows, whatever it forgets. And before that, as a lint:

`within` gives an engine bound to one workspace; the API has no other for its callers. Every
statement on a root names the workspace of its connection by `mine`, and one that does not is
refused here before it is sent. Workers, the reconciler and the operator's commands work for all
workspaces: their engines are bound to none, and what they add belongs where its matrix does.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sqlalchemy import ColumnElement, Connection, Engine, Table, event, true

from service.core.api_keys import DEFAULT_WORKSPACE

DEFAULT = DEFAULT_WORKSPACE
NOBODY = ""
"""The workspace of those who are let in without saying who they are: nothing is in it."""

ROOTS = frozenset({"matrices", "jobs", "selections", "webhooks", "idempotency_keys", "api_keys"})

EVERYONES = "of_everyone"
"""A root by this alias is meant to be read whatever the workspace: for counts that name nobody."""

_OPTION = "workspace"
_NAMES = "|".join(sorted(ROOTS))
_SAID = re.compile(r"--[^\n]*|'[^']*'")
_ADDED = re.compile(rf"\bINTO\s+(?:{_NAMES})\s*\(([^)]*)\)", re.IGNORECASE)
_NAMED = re.compile(rf"(?<!\w)({_NAMES})(?![.\w])(?:\s+AS\s+(\w+))?", re.IGNORECASE)


class Unscoped(Exception):
    """A statement on a root that does not say whose rows it means: a defect of ours."""


def within(engine: Engine, workspace: str) -> Engine:
    """The same engine, its connections bound to this workspace."""
    bound = engine.execution_options(**{_OPTION: workspace})
    event.listen(bound, "before_cursor_execute", _guard)
    event.listen(bound, "begin", _name_workspace)
    return bound


def _name_workspace(conn: Connection) -> None:
    """For the policies of row-level security, until the transaction ends."""
    conn.exec_driver_sql("SELECT set_config('tastetest.workspace', %s, true)", (workspace(conn) or NOBODY,))


def workspace(conn: Connection) -> str | None:
    """The workspace this connection is bound to; None when it works for all."""
    found: str | None = conn.get_execution_options().get(_OPTION)
    return found


def owner(conn: Connection) -> str:
    """The workspace that a root added here belongs to."""
    bound = workspace(conn)
    return DEFAULT if bound is None else bound


def mine(conn: Connection, root: Table) -> ColumnElement[bool]:
    """The condition that rows of a root are this connection's to see."""
    bound = workspace(conn)
    return true() if bound is None else root.c.workspace == bound


def _guard(conn: Connection, cursor: object, statement: str, *_: object) -> None:
    if not scoped(statement):
        raise Unscoped(statement)


@lru_cache(maxsize=2048)
def scoped(statement: str) -> bool:
    """Whether an SQL statement sets or compares the workspace of every root it mentions."""
    said = _SAID.sub("", statement)
    if any("workspace" not in added.group(1) for added in _ADDED.finditer(said)):
        return False
    names = [found.group(2) or found.group(1) for found in _NAMED.finditer(_ADDED.sub("", said))]
    return all(
        name == EVERYONES or names.count(name) <= len(re.findall(rf"\b{name}\.workspace = ", said))
        for name in names
    )
