"""The HTTP connections of `tastetest serve`: none stays half open, and none carries an ambiguous request."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from service.core.settings import Settings
from service.schemas.problems import PROBLEM_TYPE

_BOTH = {b"content-length", b"transfer-encoding"}


def protocol(settings: Settings) -> type[H11Protocol]:
    """The class of uvicorn's connections under these settings."""
    limits = {"header_seconds": settings.header_seconds, "most": settings.max_connections}
    return type("Connection", (Connection,), limits)


class _StrictConnection(h11.Connection):
    """Refuses a request with two lengths: a server in front may believe the other (RFC 9112, 6.1)."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        event = super().next_event()
        if isinstance(event, h11.Request) and {name for name, _ in event.headers} >= _BOTH:
            raise h11.RemoteProtocolError("Content-Length together with Transfer-Encoding")
        return event


class Connection(H11Protocol):
    """A connection that is closed when its headers do not come in time, or too many are open."""

    header_seconds: float
    most: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.conn = _StrictConnection(
            h11.SERVER, max_incomplete_event_size=self.conn._max_incomplete_event_size
        )
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._refuse(
                503, "unavailable", "The service cannot answer now", "Too many connections are open."
            )
            return
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes in; they are waited for only until a request's headers are complete."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Look at what came behind the request that was answered."""
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        # A body that comes after its answer is of no more use.
        if begun or self.conn.our_state is h11.DONE:
            self._wait_for_headers()
        else:
            self._stop_waiting()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, or ambiguous; the connection closes."""
        self._refuse(
            400,
            "bad-request",
            "Bad Request",
            "The request is malformed at the level of HTTP, or gives its length twice.",
        )

    def _wait_for_headers(self) -> None:
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and self.conn.trailing_data[0]:
            detail = f"The request's headers did not come within {self.header_seconds:g} s."
            self._refuse(408, "request-timeout", "The request did not come in time", detail)
        else:
            self.transport.close()

    def _refuse(self, status: int, slug: str, title: str, detail: str) -> None:
        document = {"type": PROBLEM_TYPE + slug, "title": title, "status": status, "detail": detail}
        body = json.dumps(document | {"request_id": "", "errors": []}).encode()
        headers = [
            ("content-type", "application/problem+json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        for event in (
            h11.Response(status_code=status, headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
