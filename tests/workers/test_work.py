from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import orjson
import pytest

from service.jobs import life
from tests.workers.rig import Rig, children

ATTEMPTS = 3  # the default of TASTETEST_MAX_ATTEMPTS


def test_a_job_of_many_parts_is_computed_and_assembled(rig: Rig) -> None:
    rig.worker()
    job = rig.submit(rig.matrix(), [{"n": i} for i in range(5)])
    done = rig.wait(job.id)
    assert (done.status, done.parts_done, done.progress, done.attempt) == ("succeeded", 5, 1.0, 1)
    result = orjson.loads(rig.result(job.id))
    assert len(set(result["pieces"])) == 5
    assert result["matrix"] == {"id": done.matrix_id, "revision": 1, "content_hash": rig.hash_of(done)}


def test_three_workers_give_the_bytes_of_one(rig: Rig) -> None:
    matrix = rig.matrix()
    parts = [{"n": i, "steps": 3, "pause": 0.01} for i in range(12)]
    first = rig.worker()
    alone = rig.result(rig.wait(rig.submit(matrix, parts, run=1).id).id)
    rig.kill(first)
    for _ in range(3):
        rig.worker(beat=False)
    assert rig.result(rig.wait(rig.submit(matrix, parts, run=2).id).id) == alone


def test_a_part_whose_process_is_killed_is_tried_again(rig: Rig, tmp_path: Path) -> None:
    matrix = rig.matrix()
    rig.worker()
    once = {"grief": "killed_once", "marker": str(tmp_path / "died")}
    job = rig.wait(rig.submit(matrix, [{"n": 0}, once, {"n": 2}]).id)
    assert (job.status, job.attempt) == ("succeeded", 2)


@pytest.mark.parametrize(
    ("grief", "cause"), [("killed", life.LOST), ("memory", "more than the 1024 MiB a worker may use")]
)
def test_a_poison_part_fails_its_job_after_exactly_its_attempts(rig: Rig, grief: str, cause: str) -> None:
    rig.worker(TASTETEST_LEASE_SECONDS="0.6", TASTETEST_WORKER_MEMORY_MIB="1024")
    job = rig.wait(rig.submit(rig.matrix(), [{"grief": grief}, {"n": 1}]).id)
    assert (job.status, job.attempt) == ("failed", ATTEMPTS)
    assert job.error is not None
    assert job.error["type"] == "attempts-exhausted"
    assert cause in job.error["detail"]


@pytest.mark.parametrize(
    ("grief", "status", "says"),
    [("data", 422, "all examples are constant"), ("bug", 500, "ValueError: the sizes do not match")],
)
def test_errors_of_data_and_numbers_are_final_at_once(rig: Rig, grief: str, status: int, says: str) -> None:
    rig.worker()
    job = rig.wait(rig.submit(rig.matrix(), [{"grief": grief}, {"n": 1}]).id)
    assert (job.status, job.attempt) == ("failed", 1)
    assert job.error is not None
    assert job.error["status"] == status
    assert says in job.error["detail"]


def test_cancellation_stops_a_running_computation(rig: Rig, tmp_path: Path) -> None:
    rig.worker()
    job = rig.submit(rig.matrix(), [{"until": str(tmp_path / "never")}])
    rig.wait(job.id, lambda job: job.progress == 0.5)
    with rig.engine.begin() as conn:
        asked = life.cancel(conn, job.id)
    assert (asked.status, asked.cancel_requested) == ("running", True)
    done = rig.wait(job.id, seconds=2)
    assert (done.status, done.error) == ("cancelled", None)


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


def test_one_blas_thread_a_process(rig: Rig) -> None:
    worker = rig.worker(2)
    rig.wait(rig.submit(rig.matrix(), [{"n": i} for i in range(4)]).id)
    environments: list[dict[str, Any]] = [child.environ() for child in children(worker)]
    assert environments
    # The main thread and, while a part runs, its beat.
    assert all(child.num_threads() <= 2 for child in children(worker))


def test_a_large_job_does_not_keep_a_small_one_waiting(rig: Rig) -> None:
    rig.worker()
    matrix = rig.matrix()
    large = rig.submit(matrix, [{"n": i, "pause": 0.2} for i in range(15)])
    rig.wait(large.id, lambda job: job.parts_done >= 1)
    small = rig.wait(rig.submit(matrix, [{"n": 0}], size="small").id)
    assert small.status == "succeeded"
    # At most the part that ran when it came, and one in turn.
    assert rig.job(large.id).parts_done <= 5
    assert rig.wait(large.id).status == "succeeded"
