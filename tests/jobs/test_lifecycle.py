from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import IntegrityError

from service.core.errors import Conflict, NotFound
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.submit import submit
from service.store import jobs, matrices, parts, selections
from service.store.records import Claim, JobRecord

TERMS = lifecycle.LeaseTerms(timedelta(seconds=30), timedelta(seconds=1), timedelta(seconds=60))
WHO = "worker-1"


@pytest.fixture
def conn(db: Engine) -> Iterator[Connection]:
    """A connection whose changes do not outlive the test."""
    with db.connect() as connection:
        yield connection


def new_job(conn: Connection, n: int = 2) -> JobRecord:
    matrix = matrices.create(conn, Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]])), name="m")
    return submit(conn, kind="errand", settings={}, matrix=matrix, parts=[{"n": i} for i in range(n)])[0]


def claim(conn: Connection, job: JobRecord, index: int) -> Claim:
    part, _ = lifecycle.claim(conn, job.id, index, worker=WHO, terms=TERMS)
    assert part is not None
    return part


def finish(conn: Connection, part: Claim, result: bytes = b"r") -> Claim | None:
    return lifecycle.finish_part(conn, part, result, terms=TERMS)


def part_row(conn: Connection, job: JobRecord, index: int) -> Any:
    query = text("SELECT * FROM parts WHERE job_id = :id AND index = :index")
    return conn.execute(query, {"id": job.id, "index": index}).one()


def status(conn: Connection, job: JobRecord) -> str:
    return jobs.get(conn, job.id).status


def test_a_claim_is_one_attempt_with_a_lease(conn: Connection) -> None:
    job = new_job(conn)
    part, ring = lifecycle.claim(conn, job.id, 0, worker=WHO, terms=TERMS)
    assert part is not None
    assert (part.attempt, part.spec, part.kind, part.matrix_id) == (1, {"n": 0}, "errand", job.matrix_id)
    assert ring == [(job.id, 1)]
    row = part_row(conn, job, 0)
    assert (row.status, row.worker) == ("running", WHO)
    assert row.lease_until - conn.scalar(text("SELECT now()")) == TERMS.lease
    now = jobs.get(conn, job.id)
    assert (now.status, now.attempt, now.started_at is not None) == ("running", 1, True)


def test_a_second_ring_claims_nothing(conn: Connection) -> None:
    job = new_job(conn)
    claim(conn, job, 0)
    assert lifecycle.claim(conn, job.id, 0, worker="other", terms=TERMS) == (None, [])
    assert lifecycle.claim(conn, job.id, 2, worker="other", terms=TERMS) == (None, [])
    assert lifecycle.claim(conn, job.id, 99, worker="other", terms=TERMS) == (None, [])


def test_the_last_part_hands_over_to_the_assembly(conn: Connection) -> None:
    job = new_job(conn)
    second, first = claim(conn, job, 1), claim(conn, job, 0)
    assert finish(conn, second, b"two") is None
    assert jobs.get(conn, job.id).progress == 0.5
    assembly = finish(conn, first, b"one")
    assert assembly is not None
    assert (assembly.spec, assembly.index, assembly.attempt) == (None, 2, 1)
    assert [result for _, result in parts.results(conn, job.id)] == [b"one", b"two"]
    lifecycle.finish_job(conn, assembly, b'{"a":1}')
    done = jobs.get(conn, job.id)
    assert (done.status, done.progress, done.parts_done) == ("succeeded", 1.0, 2)
    assert done.finished_at is not None
    assert jobs.result(conn, job.id) == b'{"a":1}'
    # What the parts computed has served.
    assert [result for _, result in parts.results(conn, job.id)] == [None, None]


def test_a_job_of_one_part_needs_no_assembly(conn: Connection) -> None:
    job = new_job(conn, 1)
    part = claim(conn, job, 0)
    assert (part.parts_total, part.spec) == (1, {"n": 0})
    lifecycle.finish_job(conn, part, b"{}")
    done = jobs.get(conn, job.id)
    assert (done.status, done.progress, done.parts_done) == ("succeeded", 1.0, 1)
    assert conn.scalar(text("SELECT count(*) FROM parts WHERE job_id = :id"), {"id": job.id}) == 1


def test_what_a_job_leaves_is_kept_with_its_result(conn: Connection) -> None:
    job = new_job(conn, 2)
    finish(conn, claim(conn, job, 0))
    assembly = finish(conn, claim(conn, job, 1))
    assert assembly is not None
    chosen = "5f9c7a52-6a0e-5d0b-9d52-000000000001"
    body = {"examples": [{"id": "x", "weight": 1.0}]}

    def keep(conn: Connection) -> None:
        selections.add(
            conn, selection_id=chosen, matrix_id=job.matrix_id, revision=1,
            method="random", size=1, body=body, content_hash="h",
        )  # fmt: skip

    lifecycle.finish_job(conn, assembly, b"{}", keep)
    kept = selections.get(conn, chosen)
    assert (kept.method, kept.size, kept.body, kept.content_hash) == ("random", 1, body, "h")
    assert selections.page(conn, None, 9, matrix_id=job.matrix_id).items == (kept,)
    with pytest.raises(Conflict, match="1 selections"):
        matrices.delete(conn, job.matrix_id)
    matrices.delete(conn, job.matrix_id, cascade=True)
    with pytest.raises(NotFound):
        selections.get(conn, chosen)


def test_a_beat_renews_the_lease_and_tells_of_cancellation(conn: Connection) -> None:
    job = new_job(conn)
    part = claim(conn, job, 0)
    assert parts.renew_lease(conn, part, fraction=0.5, lease=timedelta(seconds=90)) == "going"
    row = part_row(conn, job, 0)
    assert (row.fraction, row.lease_until - conn.scalar(text("SELECT now()"))) == (0.5, timedelta(seconds=90))
    assert jobs.get(conn, job.id).progress == 0.25
    # Progress does not go back.
    parts.renew_lease(conn, part, fraction=0.25, lease=TERMS.lease)
    assert part_row(conn, job, 0).fraction == 0.5
    lifecycle.cancel(conn, job.id)
    assert parts.renew_lease(conn, part, fraction=0.75, lease=TERMS.lease) == "cancelled"


def test_a_beat_tells_that_the_deadline_has_passed(conn: Connection) -> None:
    job = new_job(conn)
    part = claim(conn, job, 0)
    conn.execute(text("UPDATE jobs SET deadline_at = now() - interval '1 second'"))
    assert parts.renew_lease(conn, part, fraction=0.5, lease=TERMS.lease) == "overdue"
    lifecycle.expire(conn, job.id)
    assert parts.renew_lease(conn, part, fraction=0.5, lease=TERMS.lease) is None


def test_who_lost_the_lease_writes_nothing(conn: Connection) -> None:
    job = new_job(conn)
    stale = claim(conn, job, 0)
    lifecycle.hand_back(conn, stale)
    assert status(conn, job) == "queued"
    fresh = claim(conn, job, 0)
    assert fresh.attempt == 2
    assert parts.renew_lease(conn, stale, fraction=0.5, lease=TERMS.lease) is None
    for step in (
        lambda: finish(conn, stale),
        lambda: lifecycle.fail(conn, stale, {"detail": "x"}),
        lambda: lifecycle.retry(conn, stale, "x", TERMS),
        lambda: lifecycle.hand_back(conn, stale),
        lambda: lifecycle.stop_cancelled(conn, stale),
        lambda: lifecycle.finish_job(conn, stale, b"{}"),
    ):
        with pytest.raises(lifecycle.LeaseLost):
            step()
    assert part_row(conn, job, 0).attempt == 2
    assert part_row(conn, job, 0).status == "running"


def test_failures_rest_longer_each_time_and_the_last_ends_the_job(conn: Connection) -> None:
    job = new_job(conn)
    other = claim(conn, job, 1)
    for count in (1, 2):
        lifecycle.retry(conn, claim(conn, job, 0), "it ended with MemoryError", TERMS)
        row = part_row(conn, job, 0)
        assert (row.status, row.failures) == ("queued", count)
        assert row.available_at - conn.scalar(text("SELECT now()")) == timedelta(seconds=2 ** (count - 1))
        assert status(conn, job) == "running"
        assert lifecycle.claim(conn, job.id, 0, worker=WHO, terms=TERMS)[0] is None, "it rests"
        conn.execute(text("UPDATE parts SET available_at = now() WHERE status = 'queued'"))
    lifecycle.retry(conn, claim(conn, job, 0), "it ended with MemoryError", TERMS)
    done = jobs.get(conn, job.id)
    assert (done.status, done.attempt) == ("failed", 3)
    assert done.error == {
        "type": "attempts-exhausted",
        "title": "The job was tried as often as allowed",
        "status": 500,
        "detail": "A part of the job failed on all 3 attempts; the last time it ended with MemoryError.",
    }
    assert part_row(conn, job, 1).status == "cancelled"
    with pytest.raises(lifecycle.LeaseLost):
        finish(conn, other)


def test_queued_jobs_know_their_place_and_running_ones_the_time_left(conn: Connection) -> None:
    conn.execute(text("TRUNCATE jobs CASCADE"))
    first, second, third = (new_job(conn) for _ in range(3))
    assert [jobs.get(conn, job.id).place for job in (first, second, third)] == [1, 2, 3]
    part = claim(conn, first, 0)
    assert [jobs.get(conn, job.id).place for job in (first, second, third)] == [None, 1, 2]
    assert jobs.get(conn, first.id).seconds_left is None, "no sign of progress yet"
    parts.renew_lease(conn, part, fraction=5e-324, lease=TERMS.lease)
    assert jobs.get(conn, first.id).seconds_left is None, "hardly a sign of progress"
    parts.renew_lease(conn, part, fraction=0.5, lease=TERMS.lease)
    conn.execute(text("ALTER TABLE jobs DISABLE TRIGGER guard"))
    conn.execute(text("UPDATE jobs SET started_at = now() - interval '10 seconds' WHERE status = 'running'"))
    # A quarter of the work in 10 seconds.
    assert jobs.get(conn, first.id).seconds_left == 30
    assert [job.place for job in jobs.page(conn, None, 9).items] == [2, 1, None]


def test_rests_are_bounded() -> None:
    assert [TERMS.after(n).total_seconds() for n in (1, 2, 3, 7, 1000)] == [1, 2, 4, 60, 60]


def test_handing_back_costs_no_failure(conn: Connection) -> None:
    job = new_job(conn)
    for _ in range(5):
        lifecycle.hand_back(conn, claim(conn, job, 0))
    assert (part_row(conn, job, 0).failures, part_row(conn, job, 0).attempt) == (0, 5)


def test_cancelling_a_queued_job_ends_it_at_once(conn: Connection) -> None:
    job = new_job(conn)
    assert lifecycle.cancel(conn, job.id).status == "cancelled"
    assert lifecycle.cancel(conn, job.id).status == "cancelled"
    assert lifecycle.claim(conn, job.id, 0, worker=WHO, terms=TERMS)[0] is None
    with pytest.raises(NotFound):
        lifecycle.cancel(conn, "nobody")


@pytest.mark.parametrize("end", ["stops", "finishes", "fails", "is lost", "is handed back"])
def test_a_running_job_is_cancelled_when_its_last_worker_ends(conn: Connection, end: str) -> None:
    job = new_job(conn, 3)
    first, second = claim(conn, job, 0), claim(conn, job, 1)
    asked = lifecycle.cancel(conn, job.id)
    assert (asked.status, asked.cancel_requested) == ("running", True)
    assert part_row(conn, job, 2).status == "cancelled"
    lifecycle.stop_cancelled(conn, first)
    assert status(conn, job) == "running"
    if end == "stops":
        lifecycle.stop_cancelled(conn, second)
    elif end == "finishes":
        assert finish(conn, second) is None
    elif end == "fails":
        lifecycle.fail(conn, second, {"detail": "x"})
    elif end == "is lost":
        lifecycle.retry(conn, second, lifecycle.LOST, TERMS)
    else:
        lifecycle.hand_back(conn, second)
    assert (status(conn, job), jobs.get(conn, job.id).error) == ("cancelled", None)


def test_cancellation_wins_over_the_assembly(conn: Connection) -> None:
    job = new_job(conn, 2)
    finish(conn, claim(conn, job, 0))
    assembly = finish(conn, claim(conn, job, 1))
    assert assembly is not None
    lifecycle.cancel(conn, job.id)
    lifecycle.finish_job(conn, assembly, b"{}")
    assert status(conn, job) == "cancelled"


def test_what_has_ended_cannot_be_cancelled(conn: Connection) -> None:
    job = new_job(conn, 1)
    lifecycle.fail(conn, claim(conn, job, 0), {"type": "t", "title": "t", "status": 422, "detail": "d"})
    with pytest.raises(Conflict, match="has failed"):
        lifecycle.cancel(conn, job.id)


def test_a_lost_assembly_is_taken_up_by_whoever_is_rung(conn: Connection) -> None:
    job = new_job(conn, 2)
    finish(conn, claim(conn, job, 0), b"kept")
    lost = finish(conn, claim(conn, job, 1), b"too")
    assert lost is not None
    lifecycle.retry(conn, lost, lifecycle.LOST, TERMS)
    conn.execute(text("UPDATE parts SET available_at = now() WHERE status = 'queued'"))
    again = claim(conn, job, 2)
    assert (again.spec, again.attempt) == (None, 2)
    assert [result for _, result in parts.results(conn, job.id)] == [b"kept", b"too"]


ILLEGAL = {
    "a final status changes": "UPDATE jobs SET status = 'running', finished_at = NULL, error = NULL",
    "a final job changes at all": "UPDATE jobs SET parts_done = 1",
    "a result without success": "UPDATE jobs SET result = 'x'",
    "a failed part runs again": "UPDATE parts SET status = 'running', lease_until = now() WHERE index = 0",
    "a cancelled part is done": "UPDATE parts SET status = 'done' WHERE index = 1",
}


@pytest.mark.parametrize("statement", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_the_schema_keeps_ends_final(conn: Connection, statement: str) -> None:
    job = new_job(conn, 2)
    lifecycle.fail(conn, claim(conn, job, 0), {"detail": "d"})
    refused(conn, f"{statement}{' AND' if 'WHERE' in statement else ' WHERE'} {key(statement)} = '{job.id}'")


ILLEGAL_LIVE = {
    "success without result": "UPDATE jobs SET status = 'succeeded', finished_at = now()",
    "success before all is done": "UPDATE jobs SET status = 'succeeded', finished_at = now(), result = 'x'",
    "failure without problem": "UPDATE jobs SET status = 'failed', finished_at = now()",
    "cancelled unasked": "UPDATE jobs SET status = 'cancelled', finished_at = now()",
    "a request that changes": "UPDATE jobs SET settings = '{\"other\": 1}'",
    "running without lease": "UPDATE parts SET lease_until = NULL WHERE index = 0",
    "a claim without attempt": "UPDATE parts SET status = 'running', lease_until = now() WHERE index = 1",
    "a result while running": "UPDATE parts SET result = 'x' WHERE index = 0",
    "assembly too early": "UPDATE parts SET status = 'running', attempt = 1, lease_until = now()"
    " WHERE index = 2",
    "computing part waits": "UPDATE parts SET status = 'waiting', lease_until = NULL WHERE index = 0",
}


@pytest.mark.parametrize("statement", ILLEGAL_LIVE.values(), ids=ILLEGAL_LIVE.keys())
def test_the_schema_forbids_what_life_does_not_draw(conn: Connection, statement: str) -> None:
    job = new_job(conn, 2)
    claim(conn, job, 0)
    refused(conn, f"{statement}{' AND' if 'WHERE' in statement else ' WHERE'} {key(statement)} = '{job.id}'")


def key(statement: str) -> str:
    return "id" if "UPDATE jobs" in statement else "job_id"


def refused(conn: Connection, statement: str) -> None:
    with pytest.raises(IntegrityError), conn.begin_nested():
        assert conn.execute(text(statement)).rowcount == 1, "it hit nothing"


def test_selections_are_immutable(conn: Connection) -> None:
    job = new_job(conn, 1)
    selections.add(
        conn, selection_id="5f9c7a52-6a0e-5d0b-9d52-000000000002", matrix_id=job.matrix_id, revision=1,
        method="random", size=1, body={}, content_hash="h",
    )  # fmt: skip
    refused(conn, "UPDATE selections SET size = 2")
