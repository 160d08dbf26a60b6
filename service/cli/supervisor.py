"""Keep a worker running beside the API: one that ends by itself is started again."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable

from service.cli import default_stack

SOON = 20.0
"""A worker that lives less than this many seconds has not recovered anything."""

TRIES = 3


class Supervisor:
    """Starts a process at once, and again whenever it ends, until `stop`.

    After `TRIES` ends in a row that come too soon it gives up: such a worker cannot start.
    """

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]], give_up: Callable[[], None]) -> None:
        self._start = start
        self._give_up = give_up
        self._lock = threading.Lock()
        self._stopping = False
        self.gave_up = False
        self._process = start()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the process, and do not start it again."""
        with self._lock:
            self._stopping = True
            process = self._process
        default_stack.stop(process)
        self._thread.join()

    def _keep(self) -> None:
        failures = 0
        while True:
            begun = time.monotonic()
            self._process.wait()
            failures = failures + 1 if time.monotonic() - begun < SOON else 0
            with self._lock:
                if self._stopping:
                    return
                if failures == TRIES:
                    self.gave_up = True
                    break
                self._process = self._start()
        self._give_up()
