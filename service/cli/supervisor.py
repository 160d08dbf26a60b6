"""Keep a process running beside the API: one that ends by itself is started again."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import structlog

log = structlog.get_logger(__name__)

SOON = 20.0
"""A process that lives less than this many seconds has not recovered anything."""

TRIES = 4
_FIRST_REST, _LONGEST_REST = 0.1, 5.0


class Process(Protocol):
    """A running process."""

    def wait(self) -> None:
        """Return when it has ended."""

    def stop(self) -> None:
        """End it."""


P = TypeVar("P", bound=Process)


class Supervisor(Generic[P]):
    """Starts a process, and restarts it whenever it ends, until `stop`.

    It rests before each start, longer every time. After `TRIES` in a row that came to nothing it gives
    up: such a process cannot start.
    """

    def __init__(self, name: str, start: Callable[[], P], give_up: Callable[[], None]) -> None:
        self.name = name
        self._start = start
        self._give_up = give_up
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.gave_up = False
        self.process = start()
        self._thread = threading.Thread(target=self._keep, name=f"supervise {name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the process and do not restart it."""
        self._stopping.set()
        with self._lock:
            process = self.process
        process.stop()
        self._thread.join()

    def _keep(self) -> None:
        failures = 0
        while True:
            begun = time.monotonic()
            self.process.wait()
            if self._stopping.is_set():
                return
            log.error("process ended", process=self.name, seconds=round(time.monotonic() - begun, 1))
            failures = failures + 1 if time.monotonic() - begun < SOON else 0
            while not self._started_again(failures):
                failures += 1
                if self._stopping.is_set():
                    return
                if failures >= TRIES:
                    self.gave_up = True
                    self._give_up()
                    return

    def _started_again(self, failures: int) -> bool:
        if failures >= TRIES or self._stopping.wait(min(_FIRST_REST * 2**failures, _LONGEST_REST)):
            return False
        try:
            with self._lock:
                if self._stopping.is_set():
                    return False
                self.process = self._start()
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            log.error("process does not start", process=self.name, error=repr(error))
            return False
        return True
