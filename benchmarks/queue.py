"""The queue itself: what a claim and a beat cost, whether old jobs slow it, and how it bears many callers."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import httpx
import numpy as np
from sqlalchemy import Engine, text

import migrations
from benchmarks.latency import smallest
from benchmarks.row import Row
from service.cli import default_stack
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.submit import submit
from service.store import matrices, parts
from service.store.database import make_engine
from service.store.records import Claim, MatrixRecord
from tests.acceptance.running import result, serving

TERMS = lifecycle.LeaseTerms(timedelta(seconds=30), timedelta(seconds=1), timedelta(seconds=60))
OLD_JOBS = 100_000
CLIENTS = 50
ROUNDS = 300

# Jobs that ended long ago, written past the guard, which lets none begin so.
FILL = """
ALTER TABLE jobs DISABLE TRIGGER USER; ALTER TABLE parts DISABLE TRIGGER USER;
INSERT INTO jobs (id, kind, status, settings, matrix_id, revision, request_hash, parts_total, parts_done,
    max_attempts, cancel_requested, created_at, started_at, finished_at, result)
SELECT gen_random_uuid(), 'errand', 'succeeded', '{}', m.id, 1, i::text, 1, 1, 3,
    false, now(), now(), now(), 'x'
FROM matrices m, generate_series(1, :count) i;
INSERT INTO parts (job_id, index, role, status, spec, attempt, failures, available_at, fraction)
SELECT j.id, i, CASE i WHEN 1 THEN 'assemble' ELSE 'compute' END, 'done', '{}', 1, 0, now(), 1
FROM jobs j, generate_series(0, 1) i WHERE j.result = 'x';
ALTER TABLE jobs ENABLE TRIGGER USER; ALTER TABLE parts ENABLE TRIGGER USER;
"""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, default_stack.postgres(Path(folder)) as url:
        migrations.upgrade(url)
        engine = make_engine(url)
        yield from _life(engine)
        engine.dispose()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving("--workers", "2", "--data-dir", folder) as served,
        httpx.Client(base_url=served.address, timeout=60) as client,
    ):
        yield from _callers(client, served.address)


def _life(engine: Engine) -> Iterator[Row]:
    with engine.begin() as conn:
        made = Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]]))
        matrix = matrices.create(conn, made, name="m")
    select, beat = _beats(engine, matrix)
    yield Row("a beat / SELECT 1: s", beat, select)
    claim, whole = _claims(engine, matrix, "young")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        for statement in FILL.split(";")[:-1]:
            conn.execute(text(statement), {"count": OLD_JOBS} if ":count" in statement else {})
        conn.execute(text("VACUUM ANALYZE"))
    later, whole_later = _claims(engine, matrix, "old")
    yield Row(f"a claim after {OLD_JOBS:,} jobs / before: s", later, claim, 2)
    yield Row(f"a whole job after {OLD_JOBS:,} jobs / before: s", whole_later, whole, 2)


def _beats(engine: Engine, matrix: MatrixRecord) -> tuple[float, float]:
    part = _claim(engine, _submit(engine, matrix, "beats"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(text("SET synchronous_commit = off"))
        select = _median(lambda i: conn.execute(text("SELECT 1")))
        beat = _median(lambda i: parts.renew_lease(conn, part, fraction=i / ROUNDS, lease=TERMS.lease))
    return select, beat


def _claims(engine: Engine, matrix: MatrixRecord, name: str) -> tuple[float, float]:
    """Median seconds of a claim, and of a job from submission to result."""
    claims, wholes = [], []
    for i in range(ROUNDS):
        start = time.perf_counter()
        job_id = _submit(engine, matrix, f"{name} {i}")
        before = time.perf_counter()
        part = _claim(engine, job_id)
        claims.append(time.perf_counter() - before)
        with engine.begin() as conn:
            lifecycle.finish_job(conn, part, b"{}")
        wholes.append(time.perf_counter() - start)
    return statistics.median(claims), statistics.median(wholes)


def _submit(engine: Engine, matrix: MatrixRecord, name: str) -> str:
    with engine.begin() as conn:
        return submit(conn, kind="errand", settings={"name": name}, matrix=matrix, parts=[{}])[0].id


def _claim(engine: Engine, job_id: str) -> Claim:
    with engine.begin() as conn:
        part, _ = lifecycle.claim(conn, job_id, 0, worker="bench", terms=TERMS)
    assert part is not None
    return part


def _median(call: Callable[[int], object]) -> float:
    taken = []
    for i in range(ROUNDS):
        start = time.perf_counter()
        call(i)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def _callers(client: httpx.Client, address: str) -> Iterator[Row]:
    matrix = client.post("/matrices", json=smallest()).raise_for_status().json()["id"]
    idle = _timed(client, matrix, range(100))
    yield Row("smallest job, one client, median: s", statistics.median(idle))
    yield Row("smallest job, one client, 99th percentile: s", sorted(idle)[98])
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as pool:
        clients = [stack.enter_context(httpx.Client(base_url=address, timeout=60)) for _ in range(CLIENTS)]
        start = time.perf_counter()
        seeds = [range(1000 + 10 * i, 1010 + 10 * i) for i in range(CLIENTS)]
        taken = pool.map(_timed, clients, [matrix] * CLIENTS, seeds)
        busy = sorted(seconds for times in taken for seconds in times)
        seconds = time.perf_counter() - start
    yield Row(f"smallest job, {CLIENTS} clients, median: s", statistics.median(busy))
    yield Row(f"smallest job, {CLIENTS} clients, 99th percentile: s", busy[int(0.99 * len(busy))])
    yield Row("jobs a second, two workers", len(busy) / seconds)


def _timed(client: httpx.Client, matrix: str, seeds: range) -> list[float]:
    taken = []
    for seed in seeds:
        start = time.perf_counter()
        asked = {"matrix_id": matrix, "methods": ["random"], "seed": seed}
        result(client, client.post("/mdad", json=asked))
        taken.append(time.perf_counter() - start)
    return taken
