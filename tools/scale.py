"""Migrations, claims and retention on a database of many rows: `python -m tools.scale [--jobs 500000]`.

Every migration after the fourth runs on the full tables while somebody writes to them with a lock timeout
of a second; then old jobs are deleted while others are claimed. Ends with 1 when a writer had to wait
for longer than allowed, when retention is slower than a million jobs a day, or when claims get slow.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import psycopg
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError

import migrations
from service.cli import default_stack
from service.core.settings import Settings
from service.jobs import lifecycle, maintenance
from service.store.database import make_engine, make_quick_engine

FIRST = "0004"
MOST_WAIT = 1.0
A_DAY = 24 * 3600
MOST_CLAIM = 0.1

FILL = """
SET session_replication_role = replica;
INSERT INTO matrices (id, name, revision, created_at, n_examples, examples, subtasks, strata,
    header_sha256, bounds)
SELECT gen_random_uuid(), 'm', 1, now(), 8, '', '[]', '', '', '' FROM generate_series(1, 100);
INSERT INTO matrix_revisions
SELECT id, 1, 2, true, 0, 0, false, 'h', now() FROM matrices;
INSERT INTO jobs (id, kind, status, settings, matrix_id, revision, request_hash, parts_total, parts_done,
    max_attempts, cancel_requested, created_at, started_at, finished_at, result, deadline_at)
SELECT gen_random_uuid(), CASE WHEN n % 2 = 0 THEN 'select' ELSE 'mdad' END,
    CASE WHEN n % 100 = 0 THEN 'queued' ELSE 'succeeded' END, '{{}}',
    (SELECT id FROM matrices OFFSET n % 100 LIMIT 1), 1, 'r' || n, 2,
    CASE WHEN n % 100 = 0 THEN 0 ELSE 2 END, 3, false, now() - interval '200 days',
    CASE WHEN n % 100 > 0 THEN now() END,
    CASE WHEN n % 100 > 0 THEN now() - interval '1 day' * (n % 200) END,
    CASE WHEN n % 100 > 0 THEN convert_to('{{"selection_id": "' || gen_random_uuid() || '"}}', 'UTF8')
    END,
    now() + interval '1 day'
FROM generate_series(1, {jobs}) n;
INSERT INTO parts (job_id, index, role, status, spec, attempt, failures, available_at, fraction)
SELECT j.id, i, 'compute', CASE WHEN j.status = 'queued' THEN 'queued' ELSE 'done' END, '{{}}',
    CASE WHEN j.status = 'queued' THEN 0 ELSE 1 END, 0, now(), 0 FROM jobs j, generate_series(0, 1) i;
ANALYZE;
"""

_WRITE = """
INSERT INTO matrices (id, name, revision, created_at, n_examples, examples, subtasks, strata,
    header_sha256, bounds)
VALUES (gen_random_uuid(), 'm', 1, now(), 8, '', '[]', '', '', '')
"""


class Writer:
    """Somebody who goes on writing; how long the longest write took, and whether any was given up."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._over = threading.Event()
        self.longest = 0.0
        self.given_up = 0
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.01):
            began = time.perf_counter()
            try:
                with self._engine.begin() as conn:
                    conn.execute(text(f"SET LOCAL lock_timeout = '{MOST_WAIT}s'"))
                    conn.execute(text("UPDATE jobs SET deadline_at = now() WHERE request_hash = 'r100'"))
                    conn.execute(text(_WRITE))
            except DBAPIError:
                self.given_up += 1
            self.longest = max(self.longest, time.perf_counter() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=500_000)
    jobs = parser.parse_args().jobs
    with tempfile.TemporaryDirectory() as folder, default_stack.postgres(Path(folder)) as url:
        migrations.upgrade(url, FIRST)
        plain = create_engine(url)
        with psycopg.connect(url) as conn:
            conn.execute(FILL.format(jobs=jobs).encode())
        wrong = migrate(url, plain)
        plain.dispose()
        engine = make_engine(url)
        quick = make_quick_engine(url, pool_size=1, application="scale")
        wrong += retention(engine, quick)
        for each in (engine, quick):
            each.dispose()
    for each in wrong:
        print(f"WRONG: {each}")
    return 1 if wrong else 0


def migrate(url: str, engine: Engine) -> list[str]:
    """Every later revision by itself, beside a writer."""
    scripts = ScriptDirectory.from_config(migrations.config())
    wrong = []
    for script in reversed(list(scripts.iterate_revisions("head", FIRST))):
        with Writer(engine) as writer:
            began = time.perf_counter()
            migrations.upgrade(url, script.revision)
            seconds = time.perf_counter() - began
        print(f"{script.revision}: {seconds:.1f} s, the longest write {1000 * writer.longest:.0f} ms")
        if writer.given_up or writer.longest > MOST_WAIT:
            wrong.append(f"{script.revision} kept writers waiting: {writer.longest:.2f} s")
    return wrong


def retention(engine: Engine, quick: Engine) -> list[str]:
    """Delete what is old while parts are claimed."""
    before = claims(quick, 50)
    with engine.begin() as conn:
        old = count(conn)
    over = threading.Event()
    during: list[float] = []

    def claim() -> None:
        while not over.is_set():
            during.append(claims(quick, 1))

    thread = threading.Thread(target=claim)
    thread.start()
    began = time.perf_counter()
    maintenance.run_due_maintenance(
        engine, Settings(delete_expired_seconds=1e-6, delete_expired_budget_seconds=30)
    )
    seconds = time.perf_counter() - began
    over.set()
    thread.join()
    with engine.begin() as conn:
        gone = old - count(conn)
    rate = gone / seconds * A_DAY
    print(f"retention: {gone:,} jobs in {seconds:.1f} s, {rate / 1e6:.0f} million a day")
    print(f"a claim: {1000 * before:.1f} ms before, {1000 * median(during):.1f} ms meanwhile")
    wrong = [] if rate > 1e6 else [f"retention deletes {rate:,.0f} jobs a day"]
    if median(during) > MOST_CLAIM:
        wrong.append(f"a claim takes {median(during):.2f} s while jobs are deleted")
    return wrong


def claims(quick: Engine, times: int) -> float:
    """Median seconds of a claim."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        with quick.connect() as conn:
            lifecycle.claim_next(
                conn, begin=True, most_running=10**9, worker="w", terms=lifecycle.LeaseTerms.of(Settings())
            )
        taken.append(time.perf_counter() - began)
    return median(taken)


def count(conn: Connection) -> int:
    return int(conn.scalar(text("SELECT count(*) FROM jobs")) or 0)


if __name__ == "__main__":
    sys.exit(main())
