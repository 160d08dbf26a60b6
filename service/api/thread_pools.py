"""Threads and connections of their own for what must not wait for anything else, and for what others
must not wait for.

Checks of keys and of health have a few threads and connections that no request takes from them. Uploads,
which compute for seconds, have a few threads that are shared out among the workspaces.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

from sqlalchemy import Engine

from service.core.errors import Unavailable
from service.core.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")

CHECK_THREADS = 4


class CheckPool:
    """Runs checks on an engine of their own."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._threads = ThreadPoolExecutor(CHECK_THREADS, "check")

    async def run(self, check: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a check, made in a thread."""
        return await _in_thread(self._threads, lambda: check(*args, **kwargs))

    def close(self) -> None:
        """Give threads and connections back."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.engine.dispose()


class UploadSlots:
    """Runs uploads in few threads; a workspace has some of them, and waits a while for one."""

    def __init__(self, settings: Settings) -> None:
        self._threads = ThreadPoolExecutor(settings.upload_threads, "upload")
        self._free = asyncio.Semaphore(settings.upload_threads)
        self._each = settings.uploads_per_workspace
        self._wait = settings.upload_wait_seconds
        self._of: dict[str, tuple[asyncio.Semaphore, int]] = {}

    async def run(self, workspace: str, upload: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of an upload.

        Raises
        ------
        Unavailable
            Nobody's upload ended in time to make room for this one.
        """
        async with self._turn(workspace):
            return await _in_thread(self._threads, lambda: upload(*args, **kwargs))

    @asynccontextmanager
    async def _turn(self, workspace: str) -> AsyncIterator[None]:
        own, users = self._of.get(workspace, (asyncio.Semaphore(self._each), 0))
        self._of[workspace] = own, users + 1
        taken: list[asyncio.Semaphore] = []
        try:
            async with asyncio.timeout(self._wait):
                for slots in (own, self._free):
                    await slots.acquire()
                    taken.append(slots)
        except TimeoutError:
            self._leave(workspace, taken)
            raise Unavailable(
                f"Other uploads are being read, {self._each} of this workspace at once; send this one again.",
                headers=[("Retry-After", "10")],
            ) from None
        try:
            yield
        finally:
            self._leave(workspace, taken)

    def _leave(self, workspace: str, taken: list[asyncio.Semaphore]) -> None:
        for slots in taken:
            slots.release()
        own, users = self._of[workspace]
        if users == 1:
            del self._of[workspace]
        else:
            self._of[workspace] = own, users - 1

    def close(self) -> None:
        """Give the threads back."""
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _in_thread(threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    # With the request's id for the log. Shielded: a thread whose caller has left works on, and its
    # place is free only when it has ended.
    context = contextvars.copy_context()
    under_way = asyncio.get_running_loop().run_in_executor(threads, lambda: context.run(work))
    try:
        return await asyncio.shield(under_way)
    except asyncio.CancelledError:
        await asyncio.wait([under_way])
        raise
