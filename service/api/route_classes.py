"""Route classes of all routers: they check a request strictly before its handler runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from inspect import isclass
from typing import Any, ClassVar

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from service.api import authenticator, strict_json
from service.core import disk
from service.core.api_keys import Scope
from service.core.errors import FieldError, InvalidRequest, NoSpaceLeft, TooLarge, UnsupportedMedia

JSON_TYPE = re.compile(r"application/([a-z0-9.\-]+\+)?json")
MAX_JSON_BYTES = 32 * 1024 * 1024
LARGE = 64 * 1024


class StrictRoute(APIRoute):
    """Refuses callers without the scope, unknown or repeated query parameters, text that the database cannot
    store, and invalid JSON.
    """

    asks: ClassVar[Scope | None] = None
    """The scope that a key needs; None means `read` for GET and `write` for all other methods."""

    @property
    def scope(self) -> Scope | None:
        """The scope that a key needs; None if no key is needed."""
        return self.asks or ("read" if self.methods == {"GET"} else "write")

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, called after the checks."""
        handler = super().get_route_handler()
        known = frozenset(_query_names(self.dependant))
        takes_json = self.body_field is not None
        scope = self.scope
        stores = scope != "read"

        async def strictly(request: Request) -> Response:
            if scope is not None:
                authenticator.check(request.state.caller, scope)
            if stores and _has_body(request) and disk.is_full(request.app.state.context.settings):
                raise NoSpaceLeft
            _check_query(request, known)
            _check_path(request)
            return await handler(await _parsed(request) if takes_json else request)

        return strictly


class AdminRoute(StrictRoute):
    """For operations on the whole workspace or service."""

    asks = "admin"


class QuestionRoute(StrictRoute):
    """For POST requests that read only, because their body is too long for a GET."""

    asks = "read"


class PublicRoute(StrictRoute):
    """For routes without a key, such as probes; they reveal no data, and their paths have no parameters."""

    @property
    def scope(self) -> None:
        """None."""


class _ParsedRequest(Request):
    """A request whose JSON body has been read; FastAPI uses only `body` and `json`."""

    def __init__(self, request: Request, raw: bytes, value: object) -> None:
        super().__init__(request.scope, request.receive)
        self._raw = raw
        self._value = value

    async def body(self) -> bytes:
        """The bytes, already read."""
        return self._raw

    async def json(self) -> object:
        """The value, parsed strictly."""
        return self._value


def _query_names(dependant: Dependant) -> Iterator[str]:
    for parameter in dependant.query_params:
        model = parameter.field_info.annotation
        if isclass(model) and issubclass(model, BaseModel):
            yield from model.model_fields
        else:
            yield parameter.alias
    for dependency in dependant.dependencies:
        yield from _query_names(dependency)


async def _parsed(request: Request) -> Request:
    raw = await _read(request)
    if not raw:
        raise InvalidRequest(
            "The body is empty; send a JSON object.", [FieldError("", "empty_body", "Send a JSON object.")]
        )
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not JSON_TYPE.fullmatch(content_type):
        found = f"not {content_type}" if content_type else "and none was sent"
        raise UnsupportedMedia(f"This path needs JSON: the Content-Type must be application/json, {found}.")
    # Checking a large document takes too long for the event loop.
    value = await run_in_threadpool(strict_json.parse, raw) if len(raw) > LARGE else strict_json.parse(raw)
    return _ParsedRequest(request, raw, value)


async def _read(request: Request) -> bytes:
    chunks = bytearray()
    async for chunk in request.stream():
        chunks += chunk
        if len(chunks) > MAX_JSON_BYTES:
            limit = f"{MAX_JSON_BYTES:,} bytes"
            raise TooLarge(
                f"A JSON request here may have at most {limit}; upload results of models to /matrices.",
                [FieldError("", "body_too_large", f"At most {limit}.")],
            )
    return bytes(chunks)


def _has_body(request: Request) -> bool:
    headers = request.headers
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _check_query(request: Request, known: frozenset[str]) -> None:
    if not request.scope["query_string"]:
        return
    faults = []
    for name, count in Counter(name for name, _ in request.query_params.multi_items()).items():
        if name not in known:
            offered = ", ".join(sorted(known)) or "none"
            faults.append(
                FieldError(
                    f"query/{name}",
                    "extra_forbidden",
                    f"There is no such parameter; the parameters are: {offered}.",
                )
            )
        elif count > 1:
            faults.append(FieldError(f"query/{name}", "repeated", "Given more than once; keep one."))
        elif flaw := strict_json.text_flaw(request.query_params[name]):
            faults.append(FieldError(f"query/{name}", *flaw))
    _refuse(faults)


def _check_path(request: Request) -> None:
    if request.scope["path"].endswith("\n"):
        # A pattern's `$` also matches before a final line break.
        raise HTTPException(404)
    _refuse(
        [
            FieldError(f"path/{name}", *flaw)
            for name, value in request.path_params.items()
            if (flaw := strict_json.text_flaw(value))
        ]
    )


def _refuse(faults: list[FieldError]) -> None:
    if faults:
        raise InvalidRequest("; ".join(f"{f.pointer}: {f.message}" for f in faults), faults)
