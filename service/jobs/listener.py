"""Waits for jobs to change without using a thread or a pooled connection.

One LISTEN connection per process receives every change and wakes the requests that wait for that job. A
notification can be lost while it reconnects, so waiters read the row again after subscribing, whenever
the connection comes back, and every few seconds in any case.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import psycopg
import structlog
from sqlalchemy import make_url

log = structlog.get_logger(__name__)

CHANNEL = "tastetest_jobs"
RECONNECT_SECONDS = 1.0
FALLBACK_SECONDS = 5.0


class Subscription:
    """One request's interest in one job."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def wake(self) -> None:
        """Let `wait` return."""
        self._changed.set()

    async def wait(self, seconds: float) -> None:
        """Return when the job may have changed, at the latest after `seconds` or the fallback's interval."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, FALLBACK_SECONDS)):
                await self._changed.wait()
        self._changed.clear()


class Listener:
    """The LISTEN connection of this process; it runs as long as the application."""

    def __init__(self, database_url: str) -> None:
        self._conninfo = make_url(database_url).set(drivername="postgresql").render_as_string(False)
        self._waiting: dict[str, set[Subscription]] = {}
        self.closing = False

    def send_home(self) -> None:
        """Make all waiting requests answer now, because the server is about to stop."""
        self.closing = True
        self._wake_all()

    @contextlib.contextmanager
    def subscribed(self, job_id: str) -> Iterator[Subscription]:
        """A subscription for the length of the block; read the row after entering it."""
        subscription = Subscription()
        self._waiting.setdefault(job_id, set()).add(subscription)
        try:
            yield subscription
        finally:
            others = self._waiting[job_id]
            others.discard(subscription)
            if not others:
                del self._waiting[job_id]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen in the background for the length of the block."""
        task = asyncio.create_task(self._listen_for_ever())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self._wake_all()

    async def _listen_for_ever(self) -> None:
        while True:
            try:
                await self._listen()
            except psycopg.Error as exc:
                log.warning("listener_lost", error=str(exc).strip())
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen(self) -> None:
        """Listen on one connection; first wake all requests, because earlier notifications may be lost."""
        connection = await psycopg.AsyncConnection.connect(
            self._conninfo, autocommit=True, application_name="tastetest-listener", connect_timeout=5
        )
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            self._wake_all()
            async for notice in connection.notifies():
                for subscription in self._waiting.get(notice.payload, ()):
                    subscription.wake()

    def _wake_all(self) -> None:
        for subscriptions in self._waiting.values():
            for subscription in subscriptions:
                subscription.wake()
