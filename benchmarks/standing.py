"""What benchmarks stand on: migrated servers of their own, and somebody who watches."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import migrations
from service.cli import default_stack


@contextlib.contextmanager
def servers() -> Iterator[tuple[str, dict[str, str]]]:
    """A folder, and the settings of Postgres and Valkey on it; this process has them too."""
    with tempfile.TemporaryDirectory() as folder, default_stack.running(Path(folder)) as stack:
        env = {"DATABASE_URL": stack.database_url, "REDIS_URL": stack.redis_url}
        os.environ |= env
        migrations.upgrade(stack.database_url)
        yield folder, env


class Watcher(ABC):
    """Looks every so many seconds, from a thread of its own, until the block ends."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(self._seconds):
            self.look()

    @abstractmethod
    def look(self) -> None:
        """What is done each time."""
