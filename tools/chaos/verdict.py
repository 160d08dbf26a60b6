"""What must be true when the dust has settled."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Row, text

from service.jobs import kinds
from service.store import invariants, matrices
from service.store.records import Claim
from tools.chaos.clients import Clients
from tools.chaos.world import ATTEMPTS, World

# How long after the last fault everything must have ended.
PATIENCE = 180.0

ROUNDING = 1e-9


def settle(world: World) -> float:
    """Wait until no job is open; the seconds it took."""
    start = time.monotonic()
    while time.monotonic() < start + PATIENCE:
        with world.rig.engine.connect() as conn:
            left = conn.scalar(text("SELECT count(*) FROM jobs WHERE status IN ('queued', 'running')"))
        if not left:
            break
        time.sleep(0.2)
    return time.monotonic() - start


def broken_promises(world: World, clients: Clients) -> list[str]:
    """Every broken promise, as a sentence; empty when all are kept."""
    with world.rig.engine.connect() as conn:
        return [
            *_open(conn),
            *_good(conn, clients),
            *_poisoned(conn, clients),
            *_sessions(conn, clients),
            *(
                f"{rule}: {ids}"
                for checks in (invariants.JOBS, invariants.MATRICES, invariants.SESSIONS)
                for rule, ids in invariants.violations(conn, checks, patience=timedelta(0)).items()
            ),
        ]


def unwilling(world: World) -> Iterator[str]:
    """Workers that do not leave by themselves when asked."""
    for worker in world.rig.workers:
        worker.terminate()
    for worker in world.rig.workers:
        try:
            worker.wait(30)
        except subprocess.TimeoutExpired:
            yield f"worker {worker.pid} is still running"


def figures(world: World) -> Mapping[str, float]:
    """Attempts lost, and how long jobs took."""
    query = text(
        "SELECT (SELECT coalesce(sum(failures), 0) FROM parts) AS attempts_lost,"
        " (SELECT coalesce(max(attempt), 0) FROM parts) AS most_attempts,"
        " percentile_cont(0.5) WITHIN GROUP (ORDER BY finished_at - created_at) AS median,"
        " percentile_cont(0.99) WITHIN GROUP (ORDER BY finished_at - created_at) AS slowest FROM jobs"
    )
    with world.rig.engine.connect() as conn:
        row = conn.execute(query).one()
    return {
        "attempts lost": float(row.attempts_lost),
        "most attempts of a part": float(row.most_attempts),
        "median seconds to end": row.median.total_seconds(),
        "99th percentile": row.slowest.total_seconds(),
    }


def _open(conn: Connection) -> Iterator[str]:
    query = text("SELECT id, status FROM jobs WHERE status NOT IN ('succeeded', 'failed')")
    for row in conn.execute(query):
        yield f"job {row.id} has not ended: {row.status}"
    running = conn.scalar(text("SELECT count(*) FROM parts WHERE status IN ('waiting', 'queued', 'running')"))
    if running:
        yield f"{running} parts are still open"


def _good(conn: Connection, clients: Clients) -> Iterator[str]:
    jobs = {str(row.id): row for row in conn.execute(text("SELECT * FROM jobs"))}
    if set(jobs) != clients.good | clients.poison:
        yield f"{len(jobs)} jobs for {len(clients.good | clients.poison)} requests"
    for job_id in clients.good & set(jobs):
        job = jobs[job_id]
        if job.status != "succeeded":
            yield f"good job {job_id} has {job.status}: {job.error}"
        elif bytes(job.result) != undisturbed(conn, job):
            yield f"job {job_id} has other bytes than an undisturbed run"


def _poisoned(conn: Connection, clients: Clients) -> Iterator[str]:
    query = text("SELECT p.*, j.status AS job FROM parts p JOIN jobs j ON j.id = p.job_id WHERE p.index = 0")
    for row in conn.execute(query):
        tried = (row.job, row.failures, row.attempt)
        if str(row.job_id) in clients.poison and tried != ("failed", ATTEMPTS, ATTEMPTS):
            yield f"poisoned job {row.job_id} ended so: {tried}"


def _sessions(conn: Connection, clients: Clients) -> Iterator[str]:
    """Every answer counted once, and the last look on the whole benchmark knows the truth."""
    query = text(
        "SELECT s.id, s.status, s.looks, (SELECT count(*) FROM session_answers a WHERE a.session_id = s.id)"
        " AS answers, s.matrix_id, s.revision FROM sessions s"
    )
    rows = conn.execute(query).all()
    if {str(row.id) for row in rows} != clients.sessions:
        yield f"{len(rows)} sessions for {len(clients.sessions)} requests"
    for row in rows:
        matrix = matrices.load(conn, str(row.matrix_id), row.revision)
        candidate = [int(example[1:]) % 2 for example in matrix.examples]
        truth = sum(candidate) / len(candidate) - float(matrix.accuracies[matrix.models.index("m0")])
        found = row.looks[-1]["estimate"] if row.looks else None
        if row.answers != len(candidate) or found is None or abs(found - truth) > ROUNDING:
            yield f"session {row.id}, {row.status}, has {row.answers} answers and found {found}, not {truth}"


def undisturbed(conn: Connection, job: Row[Any]) -> bytes:
    """What the job's result is when nothing goes wrong: computed here, in one go."""
    matrix = matrices.load(conn, str(job.matrix_id), job.revision)
    record = matrices.get(conn, str(job.matrix_id), job.revision)
    query = text("SELECT spec, stage FROM parts WHERE job_id = :id AND role = 'compute' ORDER BY index")
    claims = [
        Claim(
            job_id=str(job.id), index=i, attempt=1, worker="", parts_total=job.parts_total, kind=job.kind,
            settings=job.settings, matrix_id=record.id, revision=job.revision,
            content_hash=record.content_hash, request_hash=job.request_hash, spec=spec,
            stage=stage,
        )
        for i, (spec, stage) in enumerate(conn.execute(query, {"id": job.id}))
    ]  # fmt: skip
    pieces: list[tuple[int, kinds.Piece]] = []
    for claim in sorted(claims, key=lambda claim: claim.stage):
        earlier = [piece for stage, piece in pieces if stage < claim.stage]
        pieces.append((claim.stage, (claim.spec or {}, kinds.run(matrix, claim, earlier, _no_check))))
    return kinds.assemble(matrix, claims[0], [piece for _, piece in pieces], _no_check)[0]


def _no_check(fraction: float) -> None:
    """Nothing stops an undisturbed run."""
