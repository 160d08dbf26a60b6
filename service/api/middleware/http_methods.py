"""HEAD wherever GET is answered, and OPTIONS on every path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HttpMethodsMiddleware:
    """Answers HEAD as GET without a body, and OPTIONS with the methods that a path takes."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._paths: list[tuple[re.Pattern[str], str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            await self._head(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] == "OPTIONS" and (allowed := self._allowed(scope)):
            await Response(status_code=204, headers={"Allow": allowed})(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _head(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What GET would send, but its body; a stream ends after its headers."""
        ended = False

        async def left() -> Message:
            return {"type": "http.disconnect"} if ended else await receive()

        async def headers_only(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                await send(message)
            elif not ended:
                ended = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self.app(dict(scope, method="GET"), left, headers_only)

    def _allowed(self, scope: Scope) -> str | None:
        """The methods of a path of the API; None for a path that it does not have."""
        if not self._paths:
            self._paths = [
                (re.compile(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path))), _methods(operations))
                for path, operations in scope["app"].openapi()["paths"].items()
            ]
        return next((allowed for path, allowed in self._paths if path.fullmatch(scope["path"])), None)


def _methods(operations: Mapping[str, Any]) -> str:
    methods = {name.upper() for name in operations} & {"GET", "POST", "PUT", "PATCH", "DELETE"}
    return ", ".join(sorted(methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())))
