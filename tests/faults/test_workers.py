"""Workers that come, go and die."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
from sqlalchemy import text

from service.core.settings import Settings
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.submit import submit
from service.store import matrices
from service.store.workspace_scope import within
from tests.workers.rig import Rig

ATTEMPTS = 3  # the default of TASTETEST_MAX_ATTEMPTS


def test_three_workers_give_the_bytes_of_one(rig: Rig) -> None:
    matrix = rig.matrix()
    parts = [{"n": i, "steps": 3, "pause": 0.01} for i in range(12)]
    first = rig.worker()
    alone = rig.result(rig.wait(rig.submit(matrix, parts, run=1).id).id)
    rig.kill(first)
    for _ in range(3):
        rig.worker(beat=False)
    assert rig.result(rig.wait(rig.submit(matrix, parts, run=2).id).id) == alone


def test_a_killed_part_is_tried_again_but_not_for_ever(rig: Rig, tmp_path: Path) -> None:
    matrix = rig.matrix()
    rig.worker(TASTETEST_LEASE_SECONDS="0.6")
    once = {"grief": "killed_once", "marker": str(tmp_path / "died")}
    unlucky = rig.submit(matrix, [{"n": 0}, once, {"n": 2}])
    poison = rig.submit(matrix, [{"grief": "killed"}, {"n": 1}])
    done = rig.wait(unlucky.id, seconds=60)
    assert (done.status, done.attempt) == ("succeeded", 2)
    done = rig.wait(poison.id, seconds=60)
    assert (done.status, done.attempt) == ("failed", ATTEMPTS)
    assert done.error is not None
    assert done.error["type"] == "attempts-exhausted"
    assert lifecycle.LOST in done.error["detail"]


def test_a_worker_asked_to_stop_hands_its_part_back(rig: Rig, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    leaving = rig.worker()
    job = rig.submit(rig.matrix(), [{"until": str(gate)}])
    rig.wait(job.id, lambda job: job.progress == 0.5)
    leaving.send_signal(signal.SIGTERM)
    rig.wait(job.id, lambda job: job.status == "queued")
    assert leaving.wait(10) == 0
    gate.touch()
    rig.worker()
    done = rig.wait(job.id)
    assert (done.status, done.attempt) == ("succeeded", 2)


def test_a_worker_asked_to_stop_finishes_what_ends_in_time(rig: Rig, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    leaving = rig.worker(TASTETEST_SHUTDOWN_GRACE_SECONDS="30")
    job = rig.submit(rig.matrix(), [{"until": str(gate)}])
    rig.wait(job.id, lambda job: job.progress == 0.5)
    leaving.send_signal(signal.SIGTERM)
    gate.touch()
    assert rig.wait(job.id).attempt == 1
    assert leaving.wait(10) == 0


def test_a_cancelled_part_gives_its_worker_back_within_five_seconds(rig: Rig) -> None:
    """In the middle of one call into LAPACK, with the default times; the job says so as fast."""
    own = Settings()
    times = {"LEASE": own.lease_seconds, "STOP": own.stop_seconds, "LEASE_RENEWAL": own.lease_renewal_seconds}
    rig.worker(**{f"TASTETEST_{name}_SECONDS": str(seconds) for name, seconds in times.items()})
    matrix = rig.matrix()
    job = rig.submit(matrix, [{"grief": "lapack"}])
    rig.wait(job.id, lambda job: job.status == "running")
    follower = rig.submit(matrix, [{"n": 0}])
    began = time.monotonic()
    with rig.engine.begin() as conn:
        lifecycle.cancel(conn, job.id)
    assert rig.wait(job.id).status == "cancelled"
    assert time.monotonic() - began < 5
    assert rig.wait(follower.id).status == "succeeded"
    # Five on an idle machine; where others compute as well, a new process takes longer to start.
    assert time.monotonic() - began < 10


def test_a_small_job_hardly_waits_for_another_workspaces_many(rig: Rig) -> None:
    """Thirty long ones are queued before it and one worker works: it ends within three of their times."""
    long = 0.5
    matrix = rig.matrix()
    many = [rig.submit(matrix, [{"n": n, "steps": 5, "pause": long / 5}]) for n in range(30)]
    rig.worker()
    rig.wait(many[0].id)
    with within(rig.engine, "other").begin() as conn:
        conn.execute(text("INSERT INTO workspaces (name, created_at) VALUES ('other', now())"))
        theirs = matrices.create(conn, Matrix.build(["a"], ["x"], np.array([[1]])), name="m")
        small, _ = submit(conn, kind="errand", settings={"parts": [{}]}, matrix=theirs, parts=[{}])
    began = time.monotonic()
    rig.notifier.notify(small.id)
    assert rig.wait(small.id).status == "succeeded"
    assert time.monotonic() - began < 3 * long
