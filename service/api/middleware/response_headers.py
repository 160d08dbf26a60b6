"""Headers of every response: no guessing of types, no storing of JSON, and what is left of a rate limit."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ResponseHeadersMiddleware:
    """Adds them where a route has not set its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _complete(MutableHeaders(scope=message), scope)
            await send(message)

        await self.app(scope, receive, with_headers)


def _complete(headers: MutableHeaders, scope: Scope) -> None:
    headers.setdefault("x-content-type-options", "nosniff")
    if "json" in headers.get("content-type", ""):
        headers.setdefault("cache-control", "no-store")
    for name, value in scope.get("state", {}).get("rate_limit", ()):
        headers.setdefault(name, value)
