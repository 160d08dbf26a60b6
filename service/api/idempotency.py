"""`Idempotency-Key`: a request that is sent twice is processed once and gets the same answer twice."""

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
        description=(
            "A key of your choice, a new one for each new request. If you send the request again with the "
            "same key within a day, it is not processed twice: you get the first answer, with "
            "`Idempotency-Replayed: true`."
        ),
    ),
]


def run_once(
    context: AppContext, key: str | None, fingerprint: bytes, work: Callable[[Connection], StoredAnswer]
) -> Response:
    """Do the work and store its answer in one transaction; or return the answer stored under the key."""
    with context.engine.begin() as conn:
        if key is None:
            return _response(work(conn))
        stored_answer = idempotency.find(conn, key, fingerprint)
        if stored_answer is not None:
            return _response(stored_answer, {"Idempotency-Replayed": "true"})
        answer = work(conn)
        idempotency.keep(conn, key, fingerprint, answer)
        return _response(answer)


def hash_of_body(path: str, body: BaseModel) -> bytes:
    """The fingerprint of a JSON request, independent of its spelling."""
    return hashlib.sha256(f"{path}\n{body.model_dump_json()}".encode()).digest()


def hash_of_file(path: str, file: BinaryIO, parameters: object) -> bytes:
    """The fingerprint of an upload: its bytes and its options."""
    file.seek(0)
    found = hashlib.sha256()
    while chunk := file.read(CHUNK):
        found.update(chunk)
    found.update(f"{path}\n{parameters!r}".encode())
    file.seek(0)
    return found.digest()


def stored_answer(status: int, view: BaseModel, headers: Mapping[str, str]) -> StoredAnswer:
    """A stored answer with a JSON body."""
    return StoredAnswer(status, headers, view.model_dump_json().encode())


def _response(answer: StoredAnswer, more: Mapping[str, str] | None = None) -> Response:
    headers = {**answer.headers, **(more or {})}
    return Response(answer.body, answer.status, headers, media_type="application/json")
