"""Workers that come, go and die."""

from __future__ import annotations

import signal
from pathlib import Path

from service.jobs import lifecycle
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


def test_a_computation_that_does_not_listen_holds_no_worker(rig: Rig) -> None:
    rig.worker(TASTETEST_STOP_SECONDS="0.3", TASTETEST_LEASE_SECONDS="0.6")
    job = rig.submit(rig.matrix(), [{"grief": "deaf"}])
    rig.wait(job.id, lambda job: job.status == "running")
    with rig.engine.begin() as conn:
        lifecycle.cancel(conn, job.id)
    assert rig.wait(job.id).status == "cancelled"
    assert rig.wait(rig.submit(rig.matrix("next"), [{"n": 0}]).id).status == "succeeded"
