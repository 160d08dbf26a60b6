"""Sends calls: the only module that talks to the network."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import httpx

from tastetest_client._protocol import Call, Connection, Retries


class AsyncTransport:
    """The service at one address."""

    def __init__(self, connection: Connection, http: httpx.AsyncClient | None = None) -> None:
        self.connection = connection
        self._http = http or httpx.AsyncClient(**connection.http_options)

    async def send(self, call: Call) -> httpx.Response:
        """The answer to a call, repeated while the service is away."""
        retries = Retries(self.connection, call)
        while True:
            try:
                answer = await self._http.request(**call.arguments())
            except (httpx.TransportError, httpx.InvalidURL) as error:
                pause: float | None = retries.after_error(error)
            else:
                pause = retries.after_answer(answer)
                if pause is None:
                    return self.connection.read(call, answer)
            await asyncio.sleep(pause or 0)

    async def json(self, call: Call) -> dict[str, Any]:
        """The answer's JSON, which is an object in every answer of the service."""
        answer = await self.send(call)
        with contextlib.suppress(ValueError):
            found = answer.json()
            if isinstance(found, dict):
                return found
        raise self.connection.unexpected(call, answer)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()
