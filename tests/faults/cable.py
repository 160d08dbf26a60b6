"""A cable that can be pulled: what a worker says to a server passes through here, or not."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path


class Cable:
    """Carries a Unix socket to another; while pulled, nothing passes and nothing is refused."""

    def __init__(self, end: Path, server: Path) -> None:
        self._end = end
        self._server = server
        self._loop = asyncio.new_event_loop()
        self._whole = asyncio.Event()
        self._whole.set()
        self._tasks: set[asyncio.Task[None]] = set()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait()

    def pull(self) -> None:
        """From now on nothing passes."""
        self._loop.call_soon_threadsafe(self._whole.clear)

    def plug(self) -> None:
        """What was held back goes through."""
        self._loop.call_soon_threadsafe(self._whole.set)

    def close(self) -> None:
        """Cut all connections and end."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_unix_server(self._accept, self._end))
        ready.set()
        self._loop.run_forever()
        server.close()
        # Those that are just being accepted as well.
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        # A closed connection is let go of in the loop's next turn.
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_unix_connection(self._server)
        except BaseException:
            writer.close()
            raise
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.create_task(self._carry(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError):
                while data := await source.read(65536):
                    await self._whole.wait()
                    sink.write(data)
                    await sink.drain()
        finally:
            sink.close()
