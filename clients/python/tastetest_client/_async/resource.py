"""What all resources share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from tastetest_client._async.transport import AsyncTransport
from tastetest_client._protocol import Call

Model = TypeVar("Model", bound=BaseModel)


class _Page(BaseModel, Generic[Model]):
    items: list[Model]
    next_cursor: str | None = None


class AsyncResource:
    """One resource of the service."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _read(self, kind: type[Model], call: Call) -> Model:
        """The answer to a call as a model."""
        answer = await self._transport.send(call)
        try:
            return kind.model_validate_json(answer.content)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the document"
            why = f"{where}: {first['msg']}; another version of tastetest-client may fit it"
            raise self._transport.connection.unexpected(call, answer, why) from error

    async def _pages(self, item: type[Model], path: str, params: Mapping[str, Any]) -> AsyncIterator[Model]:
        """All items of a list, a page at a time."""
        page: type[_Page[Model]] = _Page[item]  # type: ignore[valid-type]
        cursor: str | None = None
        while True:
            found = await self._read(page, Call("GET", path, {**params, "cursor": cursor}))
            for one in found.items:
                yield one
            cursor = found.next_cursor
            if cursor is None:
                return
