"""Real workers for tests: start them, ring them, wait for what the database says of a job."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import psycopg
from sqlalchemy import Engine, make_url

from service.engine.data.matrix import Matrix
from service.jobs.notifier import WorkerNotifier
from service.jobs.submit import submit
from service.store import jobs, matrices
from service.store.records import JobRecord, MatrixRecord

ROOT = Path(__file__).parents[2]
QUICK = {
    "TASTETEST_LEASE_SECONDS": "1.5",
    "TASTETEST_LEASE_RENEWAL_SECONDS": "0.2",
    "TASTETEST_RECONCILE_SECONDS": "0.3",
    "TASTETEST_REQUEUE_SECONDS": "0.5",
    "TASTETEST_RETRY_SECONDS": "0.1",
    "TASTETEST_SHUTDOWN_GRACE_SECONDS": "0.5",
}


class Rig:
    """A database, a broker, and as many workers as a test starts."""

    def __init__(self, engine: Engine, postgres_url: str, redis_url: str, folder: Path) -> None:
        self.engine = engine
        self.notifier = WorkerNotifier(redis_url)
        self.postgres_url = postgres_url
        self.redis_url = redis_url
        self._folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []

    def worker(self, processes: int = 1, *, beat: bool = True, **env: str) -> subprocess.Popen[bytes]:
        """Start a Celery worker in a session of its own; it runs the reconciler's clock too."""
        command = [sys.executable, "-m", "celery", "-A", "workers.app", "worker", "-I", "tests.workers.kinds"]
        command += ["--concurrency", str(processes), "--loglevel", "INFO", *(["--beat"] if beat else [])]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        urls = {"DATABASE_URL": self.postgres_url, "REDIS_URL": self.redis_url}
        with (self._folder / f"worker-{len(self.workers)}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | QUICK | urls | env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.workers.append(process)
        return process

    def use_broker(self, redis_url: str) -> None:
        """Ring at, and start workers on, another broker."""
        self.redis_url = redis_url
        self.notifier = WorkerNotifier(redis_url)

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """SIGKILL a worker with all its processes, as the end of a machine would."""
        self.signal(worker, signal.SIGKILL)
        worker.wait()

    def signal(self, worker: subprocess.Popen[bytes], number: int) -> None:
        """Send a signal to a worker and all its processes, unless it has ended: its id may be another's."""
        if worker.poll() is None:
            os.killpg(worker.pid, number)

    def stop_all(self) -> None:
        """Leave nothing running."""
        for worker in self.workers:
            self.kill(worker)

    def logs(self) -> str:
        """What the workers said."""
        return "\n".join(path.read_text() for path in sorted(self._folder.glob("worker-*.log")))

    def matrix(self, name: str = "m") -> MatrixRecord:
        """A small stored matrix."""
        rng = np.random.default_rng(7)
        scores = rng.integers(0, 2, (5, 20)).astype(np.uint8)
        made = Matrix.build([f"m{i}" for i in range(5)], [f"e{i}" for i in range(20)], scores)
        with self.engine.begin() as conn:
            return matrices.create(conn, made, name=name)

    def submit(self, matrix: MatrixRecord, parts: list[dict[str, Any]], **settings: Any) -> JobRecord:
        """Submit an errand and ring."""
        asked = {"parts": parts, **settings}
        with self.engine.begin() as conn:
            job, created = submit(conn, kind="errand", settings=asked, matrix=matrix, parts=parts)
        assert created
        self.notifier.notify(job.id)
        return job

    def job(self, job_id: str) -> JobRecord:
        """The job now."""
        with self.engine.connect() as conn:
            return jobs.get(conn, job_id)

    def hash_of(self, job: JobRecord) -> str:
        """The content hash of the job's matrix."""
        with self.engine.connect() as conn:
            return matrices.get(conn, job.matrix_id, job.revision).content_hash

    def result(self, job_id: str) -> bytes:
        """The stored result."""
        with self.engine.connect() as conn:
            return jobs.result(conn, job_id)

    def wait(
        self, job_id: str, until: Callable[[JobRecord], bool] = lambda job: job.finished, seconds: float = 30
    ) -> JobRecord:
        """The job as soon as it is so; woken by the database's notifications."""
        with self._listening() as notified:
            deadline = time.monotonic() + seconds
            while not until(job := self.job(job_id)):
                left = deadline - time.monotonic()
                assert left > 0, f"still {job}\n{self.logs()}"
                notified(left)
        return job

    @contextlib.contextmanager
    def _listening(self) -> Iterator[Callable[[float], None]]:
        url = make_url(self.postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("LISTEN tastetest_jobs")
            yield lambda left: next(iter(conn.notifies(timeout=left, stop_after=1)), None) and None


def children(worker: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The pool processes of a worker."""
    return psutil.Process(worker.pid).children(recursive=True)
