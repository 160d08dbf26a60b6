"""Middleware for every request: its id, its log line, its size limit, and the response to a crash."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from importlib.metadata import version

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import problems, request_metrics
from service.core.errors import FieldError, RequestTimeout, TooLarge

log = structlog.get_logger("tastetest.access")

WELL_FORMED_ID = re.compile(r"[A-Za-z0-9._\-]{1,128}")
VERSION = version("tastetest")
UNLOGGED_PATHS = {"/livez", "/readyz", "/metrics"}


class RequestEnvelopeMiddleware:
    """Gives each request an id, logs it, and answers with a problem document if the application crashes.

    It is the outermost middleware, so that it sees every exception. It logs a crash with its traceback
    and does not raise it again, unless the response has started.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self._answer(scope, receive, send, request_id)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        status = 0
        started = time.perf_counter()

        async def tell(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                headers["tastetest-version"] = VERSION
            await send(message)

        try:
            await self.app(scope, receive, tell)
        except Exception:
            log.exception("crash", method=scope["method"], path=scope["path"])
            if status:
                raise
            await problems.crash_response(scope)(scope, receive, tell)
        finally:
            _record(scope, status, time.perf_counter() - started)


# A body may take as long as this many bytes a second need, beside the time that is set.
SLOWEST = 32 * 1024


class BodyLimitMiddleware:
    """Refuses bodies over `limit` bytes, by their declared length or, chunked, by counting; and those
    that do not come within `seconds` beyond what a slow line needs.
    """

    def __init__(self, app: ASGIApp, limit: int, seconds: float) -> None:
        self.app = app
        self.limit = limit
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared) > self.limit:
            await problems.render(scope, self._refusal())(scope, receive, send)
            return
        await self.app(scope, self._counted(receive), send)

    def _counted(self, receive: Receive) -> Receive:
        total, complete = 0, False
        began = time.monotonic()

        async def counted() -> Message:
            nonlocal total, complete
            if complete:
                # What comes now is that the caller has left, whenever that is.
                return await receive()
            deadline = began + self.seconds + total / SLOWEST
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                raise self._too_slow() from None
            complete = not message.get("more_body", False)
            total += len(message.get("body", b""))
            if total > self.limit:
                raise self._refusal()
            return message

        return counted

    def _too_slow(self) -> RequestTimeout:
        message = f"The body did not come within {self.seconds:g} s beyond what a slow line needs."
        return RequestTimeout(message, [FieldError("", "too_slow", message)], [("Connection", "close")])

    def _refusal(self) -> TooLarge:
        limit = f"{self.limit:,} bytes"
        return TooLarge(
            f"The body is larger than the limit of {limit}; compress it, or send one model at a time.",
            [FieldError("", "body_too_large", f"At most {limit}.")],
        )


def _request_id(headers: Headers) -> str:
    sent = headers.get("x-request-id", "")
    return sent if WELL_FORMED_ID.fullmatch(sent) else uuid.uuid4().hex


def _record(scope: Scope, status: int, seconds: float) -> None:
    """Log one line and count the request in the metrics, by the route's template."""
    route = getattr(scope.get("route"), "path", "")
    request_metrics.REQUESTS.labels(scope["method"] if route else "", route, str(status)).inc()
    request_metrics.SECONDS.labels(route).observe(seconds)
    if scope["path"] not in UNLOGGED_PATHS:
        caller = scope.get("state", {}).get("caller")
        log.info(
            "request",
            workspace=caller.workspace if caller else None,
            key=caller.key if caller else None,
            method=scope["method"],
            path=scope["path"],
            route=route,
            status=status,
            milliseconds=round(seconds * 1000, 2),
        )
