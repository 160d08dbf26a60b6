"""Queries over all jobs read the rows that they show, however many others there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from service.store import job_counts, jobs
from service.store.workspace_scope import within
from tools.scale import FILL

JOBS = 20_000


@pytest.fixture(scope="module")
def many(postgres_url: str) -> None:
    """One workspace with many finished jobs, in this module's own database."""
    with psycopg.connect(postgres_url, autocommit=False) as conn:
        conn.execute(FILL.format(jobs=JOBS).encode())


@pytest.fixture
def conn(many: None, db: Engine) -> Iterator[Connection]:
    """As maintenance and metrics see it: every workspace."""
    with db.connect() as connection:
        yield connection


@pytest.fixture
def caller(many: None, db: Engine) -> Iterator[Connection]:
    """As a caller sees it: one workspace."""
    with within(db, "default").connect() as connection:
        yield connection


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def plans(conn: Connection, asking: Connection, ask: Any) -> dict[str, list[dict[str, Any]]]:
    """What each SELECT of a call on `asking` does, explained on `conn`: statement → nodes of its plan."""
    asked: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.lstrip().upper().startswith(("SELECT", "WITH")):
            asked.append((statement, parameters))

    sa.event.listen(asking, "before_cursor_execute", note)
    ask()
    sa.event.remove(asking, "before_cursor_execute", note)
    found = {}
    for statement, parameters in asked:
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}"
        plan = conn.exec_driver_sql(explain, parameters).scalar_one()
        found[statement] = list(nodes(plan[0]["Plan"]))
    return found


@pytest.mark.parametrize("wanted", [{"kind": "mdad", "status": "failed"}, {"status": "failed"}])
def test_a_list_of_jobs_reads_only_what_it_shows(
    conn: Connection, caller: Connection, wanted: dict[str, str]
) -> None:
    """No job failed: without an index each of all jobs would be read."""
    each = plans(conn, caller, lambda: jobs.page(caller, None, 50, **wanted))
    found = [node for statement, plan in each.items() if "FROM jobs" in statement for node in plan]
    assert found
    assert all(node.get("Rows Removed by Filter", 0) < 1000 for node in found)
    assert all(node["Actual Rows"] < 1000 for node in found)


def test_the_metrics_do_not_read_the_parts_of_finished_jobs(conn: Connection) -> None:
    found = plans(conn, conn, lambda: job_counts.count_jobs(conn))
    scans = [n for each in found.values() for n in each if n.get("Relation Name") == "parts"]
    assert scans
    assert all(n["Node Type"] != "Seq Scan" for n in scans)
    assert all(n["Actual Rows"] * n["Actual Loops"] <= 2 * JOBS // 100 for n in scans)
