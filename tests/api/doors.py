"""Keys, and every operation of the document as requests."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import sqlalchemy as sa

from service.core import api_keys
from service.core.api_keys import SCOPES
from service.core.settings import Settings
from service.store import keys as stored
from tests.contract.document import document

UNKNOWN = "0198c0de-7a57-7e57-8000-00000000dead"
CSV = {"Content-Type": "text/csv"}
TINY = {
    "models": ["a", "b", "c", "d"],
    "examples": ["u", "v", "w", "x", "y", "z"],
    "scores": [[1, 0, 1, 1, 0, 0], [1, 1, 0, 0, 1, 0], [0, 1, 1, 1, 1, 1], [0, 0, 1, 0, 0, 1]],
}
ONE_MODEL = b"model,u,v,w,x,y,z\nnew,1,0,1,0,1,1\n"


@dataclass(frozen=True)
class Operation:
    """One operation of the document."""

    name: str
    method: str
    path: str
    scope: str | None
    takes_body: bool


@dataclass(frozen=True)
class Request:
    """What is sent, beside the path."""

    params: dict[str, str] = field(default_factory=dict)
    sent: dict[str, Any] = field(default_factory=dict)


def operations() -> list[Operation]:
    """Every operation of the document."""
    return list(_operations())


def _operations() -> Iterator[Operation]:
    for path, methods in document()["paths"].items():
        for method, told in methods.items():
            scopes = {scope for way in told.get("security", []) for of in way.values() for scope in of}
            assert len(scopes) <= 1
            scope = next(iter(scopes), None)
            yield Operation(told["operationId"], method.upper(), path, scope, "requestBody" in told)


def locked(database_url: str, redis_url: str) -> Settings:
    """Settings under which every request needs a key, which is looked up each time."""
    return Settings(database_url=database_url, redis_url=redis_url, auth="required", key_cache_seconds=0)


def make(
    db: sa.Engine,
    workspace: str = "default",
    *scopes: str,
    lasts: timedelta | None = None,
) -> str:
    """A key, with all scopes unless some are named."""
    made = api_keys.new()
    with db.begin() as conn:
        stored.add(
            conn, key_id=made.id, secret_sha256=made.sha256, workspace=workspace, name="test",
            scopes=scopes or SCOPES, lasts=lasts,
        )  # fmt: skip
    return str(made)


@contextlib.contextmanager
def statements() -> Iterator[list[str]]:
    """What any engine asks of the database meanwhile."""
    found: list[str] = []

    def hear(*args: Any) -> None:
        found.append(args[2])

    sa.event.listen(sa.Engine, "before_cursor_execute", hear)
    try:
        yield found
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", hear)


def bearing(key: str) -> dict[str, str]:
    """The headers that show a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def ask(
    api: httpx.Client, key: str, operation: Operation, ids: Mapping[str, str], request: Request
) -> httpx.Response:
    """Send an operation with these ids in its path."""
    path = re.sub(r"{(\w+)}", lambda found: ids[found.group(1)], operation.path)
    sent = dict(request.sent)
    headers = bearing(key) | sent.pop("headers", {})
    with api.stream(operation.method, path, params=request.params, headers=headers, **sent) as answer:
        answer.read()
    return answer
