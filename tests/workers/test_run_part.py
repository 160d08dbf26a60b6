"""A worker at work: one for all these tests."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
import pytest
from sqlalchemy import text

from service.jobs import lifecycle
from service.store import matrices
from tests.workers.rig import Rig, children

ATTEMPTS = 3  # the default of TASTETEST_MAX_ATTEMPTS


def test_a_job_of_many_parts_is_computed_and_assembled(crew: Rig) -> None:
    job = crew.submit(crew.matrix(), [{"n": i} for i in range(5)])
    done = crew.wait(job.id)
    assert (done.status, done.parts_done, done.progress, done.attempt) == ("succeeded", 5, 1.0, 1)
    result = orjson.loads(crew.result(job.id))
    assert len(set(result["pieces"])) == 5
    assert result["matrix"] == {"id": done.matrix_id, "revision": 1, "content_hash": crew.hash_of(done)}


def test_a_later_stage_begins_when_all_of_the_one_before_is_done_and_knows_its_results(crew: Rig) -> None:
    matrix = crew.matrix()
    specs = [
        {"n": 1, "pause": 0.2},
        {"n": 2},
        {"n": 3, "stage": 2},
        {"n": 4, "stage": 2},
        {"n": 5, "stage": 3},
    ]
    done = crew.wait(crew.submit(matrix, specs).id)
    assert (done.status, done.parts_done, done.attempt) == ("succeeded", 5, 1)
    pieces = [bytes.fromhex(piece) for piece in orjson.loads(crew.result(done.id))["pieces"]]
    with crew.engine.begin() as conn:
        scores = matrices.load(conn, matrix.id).scores.tobytes()
    for at, (spec, known) in enumerate(zip(specs, [0, 0, 2, 2, 4], strict=True)):
        digest = hashlib.sha256(scores + repr(sorted(spec.items())).encode())
        for piece in pieces[:known]:
            digest.update(piece)
        assert pieces[at] == digest.digest()


@pytest.mark.parametrize(
    ("grief", "status", "says"),
    [("data", 422, "all examples are constant"), ("bug", 500, "ValueError: the sizes do not match")],
)
def test_errors_of_data_and_numbers_are_final_at_once(crew: Rig, grief: str, status: int, says: str) -> None:
    job = crew.wait(crew.submit(crew.matrix(), [{"grief": grief}, {"n": 1}]).id)
    assert (job.status, job.attempt) == ("failed", 1)
    assert job.error is not None
    assert job.error["status"] == status
    assert says in job.error["detail"]


def test_a_hog_fails_its_job_after_its_attempts_and_says_why(crew: Rig) -> None:
    job = crew.wait(crew.submit(crew.matrix(), [{"grief": "memory"}, {"n": 1}]).id)
    assert (job.status, job.attempt) == ("failed", ATTEMPTS)
    assert job.error is not None
    assert job.error["type"] == "attempts-exhausted"
    assert "more than the 1024 MiB a worker may use" in job.error["detail"]


def test_cancellation_stops_a_running_computation(crew: Rig, tmp_path: Path) -> None:
    job = crew.submit(crew.matrix(), [{"until": str(tmp_path / "never")}])
    crew.wait(job.id, lambda job: job.progress == 0.5)
    with crew.engine.begin() as conn:
        asked = lifecycle.cancel(conn, job.id)
    assert (asked.status, asked.cancel_requested) == ("running", True)
    done = crew.wait(job.id, seconds=2)
    assert (done.status, done.error) == ("cancelled", None)


def test_a_running_job_past_its_deadline_stops(crew: Rig, tmp_path: Path) -> None:
    job = crew.submit(crew.matrix(), [{"until": str(tmp_path / "never")}])
    crew.wait(job.id, lambda job: job.progress == 0.5)
    with crew.engine.begin() as conn:
        late = "UPDATE jobs SET deadline_at = now() - interval '1 second' WHERE id = :id"
        conn.execute(text(late), {"id": job.id})
    done = crew.wait(job.id, seconds=5)
    assert (done.status, done.error and done.error["type"]) == ("failed", "deadline-exceeded")


def test_one_blas_thread_a_process(crew: Rig) -> None:
    crew.wait(crew.submit(crew.matrix(), [{"n": i} for i in range(4)]).id)
    # The main thread and, while a part runs, its beat.
    threads = [child.num_threads() for child in children(crew.workers[0])]
    assert threads
    assert max(threads) <= 2


def test_a_large_job_does_not_keep_a_small_one_waiting(crew: Rig) -> None:
    matrix = crew.matrix()
    large = crew.submit(matrix, [{"n": i, "pause": 0.2} for i in range(15)])
    crew.wait(large.id, lambda job: job.parts_done >= 1)
    small = crew.wait(crew.submit(matrix, [{"n": 0}], size="small").id)
    assert small.status == "succeeded"
    # At most the part that ran when it came, and one in turn.
    assert crew.job(large.id).parts_done <= 5
    assert crew.wait(large.id).status == "succeeded"
