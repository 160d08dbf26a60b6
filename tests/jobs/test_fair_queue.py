"""Workspaces take turns by computing time, and each has a limit on what runs at once."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import Engine, text

from service.core.errors import TooManyJobs
from service.core.settings import Settings
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.lifecycle import Taken
from service.jobs.submit import submit
from service.store import matrices
from service.store.records import JobRecord
from service.store.workspace_scope import within

TERMS = lifecycle.LeaseTerms.of(Settings())


@pytest.fixture(autouse=True)
def workspaces(db: Engine) -> None:
    with db.begin() as conn:
        conn.execute(text("TRUNCATE jobs CASCADE"))
        conn.execute(text("DELETE FROM workspaces WHERE name <> 'default' AND name NOT IN ("
                          "SELECT workspace FROM matrices)"))  # fmt: skip
        for name in ("big", "small", "late"):
            add = "INSERT INTO workspaces (name, created_at) VALUES (:name, now()) ON CONFLICT DO NOTHING"
            conn.execute(text(add), {"name": name})
        conn.execute(text("UPDATE workspaces SET queue_start = 0, queue_finish = 0"))


def ask(db: Engine, workspace: str, seconds: float, n: int = 0, parts: int = 1) -> JobRecord:
    """A job of this workspace that is estimated to take so long."""
    with within(db, workspace).begin() as conn:
        made = Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]]))
        matrix = matrices.create(conn, made, name="m")
        asked = {"n": n}
        job, created = submit(
            conn, kind="errand", settings=asked, matrix=matrix, parts=[{}] * parts, seconds=seconds
        )
        assert created
        return job


def take(db: Engine, *, begin: bool = True, most_running: int = 64) -> Taken | None:
    with db.begin() as conn:
        return lifecycle.claim_next(conn, begin=begin, most_running=most_running, worker="w", terms=TERMS)


def whose(db: Engine, taken: Taken | None) -> str:
    assert taken is not None
    with db.connect() as conn:
        owner = text("SELECT workspace FROM jobs WHERE id = :id")
        return str(conn.scalar(owner, {"id": taken.claim.job_id}))


def test_a_small_job_waits_for_one_part_of_another_workspaces_thirty(db: Engine) -> None:
    for n in range(30):
        ask(db, "big", 25.0, n)
    assert whose(db, take(db)) == "big"
    ask(db, "small", 0.1)
    assert [whose(db, take(db)) for _ in range(2)] == ["small", "big"]


def test_turns_are_counted_in_computing_time(db: Engine) -> None:
    """A workspace whose parts take a second gets ten for each of the other's of ten seconds."""
    for n in range(10):
        ask(db, "big", 10.0, n)
    for n in range(60):
        ask(db, "small", 1.0, n)
    taken = Counter(whose(db, take(db)) for _ in range(44))
    assert taken == {"big": 4, "small": 40}


def test_a_workspace_that_was_idle_has_saved_up_nothing(db: Engine) -> None:
    for n in range(40):
        ask(db, "big", 10.0, n)
    for _ in range(20):
        assert whose(db, take(db)) == "big"
    for n in range(40):
        ask(db, "late", 10.0, n)
    taken = Counter(whose(db, take(db)) for _ in range(20))
    assert taken["big"] in (9, 10)


def test_a_long_job_of_a_workspace_keeps_its_short_ones_from_waiting(db: Engine) -> None:
    long = ask(db, "big", 100.0, 0, parts=50)
    short = ask(db, "big", 0.1, 1)
    first = take(db)
    assert first is not None
    assert first.claim.job_id == long.id
    further, begun = take(db, begin=False), take(db, begin=True)
    assert further is not None
    assert begun is not None
    assert (further.claim.job_id, begun.claim.job_id) == (long.id, short.id)


def test_a_workspace_runs_so_many_parts_at_once(db: Engine) -> None:
    for n in range(5):
        ask(db, "big", 1.0, n)
    first, second = take(db, most_running=2), take(db, most_running=2)
    assert first is not None
    assert second is not None
    assert (first.at_limit, second.at_limit) == (False, True)
    assert take(db, most_running=2) is None
    ask(db, "small", 1.0)
    assert whose(db, take(db, most_running=2)) == "small"
    with db.begin() as conn:
        lifecycle.finish_job(conn, first.claim, b"done")
    assert whose(db, take(db, most_running=2)) == "big"


def test_workers_that_ask_at_one_moment_each_get_a_part(db: Engine) -> None:
    for n in range(16):
        ask(db, "big" if n % 2 else "small", 1.0, n)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: take(db), range(16)))
    ids = [one.claim.job_id for one in taken if one is not None]
    assert len(set(ids)) == len(ids) == 16


def test_the_limit_on_unfinished_jobs_holds_for_requests_at_one_moment(db: Engine) -> None:
    with within(db, "big").begin() as conn:
        made = Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]]))
        matrix = matrices.create(conn, made, name="m")

    def add(n: int) -> bool:
        try:
            with within(db, "big").begin() as conn:
                asked = {"n": n}
                submit(conn, kind="errand", settings=asked, matrix=matrix, parts=[{}], most_unfinished=5)
        except TooManyJobs:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(add, range(30))) == 5


def test_the_next_part_is_found_fast_among_many(db: Engine) -> None:
    """With 20,000 jobs queued in one workspace and 200 other workspaces waiting."""
    job = ask(db, "big", 1.0)
    copy = text("""
        INSERT INTO jobs (id, kind, status, settings, matrix_id, revision, request_hash, parts_total,
            parts_done, max_attempts, cancel_requested, created_at, workspace)
        SELECT gen_random_uuid(), 'errand', 'queued', '{}', matrix_id, 1, n::text, 1, 0, 3, false, now(),
            workspace FROM jobs, generate_series(1, 20000) n WHERE id = :id
    """)
    parts = text("""
        INSERT INTO parts (job_id, index, role, status, spec, attempt, failures, available_at, fraction)
        SELECT id, 0, 'compute', 'queued', '{}', 0, 0, now(), 0 FROM jobs WHERE id <> :id
    """)
    with db.begin() as conn:
        conn.execute(copy, {"id": job.id})
        conn.execute(parts, {"id": job.id})
    with db.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(text("ANALYZE jobs, parts"))
    began = time.perf_counter()
    for _ in range(20):
        assert take(db) is not None
    assert (time.perf_counter() - began) / 20 < 0.1
