"""`Idempotency-Key`: a request sent twice is done once, and answered the same both times."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, BinaryIO

from fastapi import Header, Response
from pydantic import BaseModel
from sqlalchemy import Connection

from service.api.context import AppContext
from service.store import idempotency
from service.store.idempotency import StoredAnswer

CHUNK = 1024 * 1024

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Yours, new for each new request. Sent again with the same key within a day, the request "
        "is not done twice but answered as before, with `Idempotency-Replayed: true`.",
    ),
]


def run_once(
    context: AppContext, key: str | None, fingerprint: bytes, work: Callable[[Connection], StoredAnswer]
) -> Response:
    """Do the work in one transaction with its answer; or give the answer there is under the key."""
    with context.engine.begin() as conn:
        if key is None:
            return _response(work(conn))
        stored_answer = idempotency.find(conn, key, fingerprint)
        if stored_answer is not None:
            return _response(stored_answer, {"Idempotency-Replayed": "true"})
        answer = work(conn)
        idempotency.keep(conn, key, fingerprint, answer)
        return _response(answer)


def of_body(path: str, body: BaseModel) -> bytes:
    """The fingerprint of a JSON request: what it means, not how it was spelled."""
    return hashlib.sha256(f"{path}\n{body.model_dump_json()}".encode()).digest()


def of_file(path: str, file: BinaryIO, told: object) -> bytes:
    """The fingerprint of an upload: its bytes and what was said about it."""
    file.seek(0)
    found = hashlib.sha256()
    while chunk := file.read(CHUNK):
        found.update(chunk)
    found.update(f"{path}\n{told!r}".encode())
    file.seek(0)
    return found.digest()


def stored_answer(status: int, view: BaseModel, headers: Mapping[str, str]) -> StoredAnswer:
    """An answer with a JSON body."""
    return StoredAnswer(status, headers, view.model_dump_json().encode())


def _response(answer: StoredAnswer, more: Mapping[str, str] | None = None) -> Response:
    headers = {**answer.headers, **(more or {})}
    return Response(answer.body, answer.status, headers, media_type="application/json")
