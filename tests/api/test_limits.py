"""What one request and one workspace may take."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from service.store import matrices
from service.store.retention import RetentionAges
from tests.api.conftest import answering
from tests.api.doors import CSV, ONE_MODEL, TINY, bearing, make
from tests.api.test_http import problem
from tests.store.sweeping import sweep

MDAD = {"methods": ["anchor_points"], "sizes": [2], "trials": 10}


@pytest.fixture(scope="module")
def settings(postgres_url: str, redis_url: str) -> Settings:
    return Settings(
        database_url=postgres_url,
        redis_url=redis_url,
        max_job_cpu_seconds=0.5,
        max_unfinished_jobs=2,
        max_stored_bytes=600,
    )


@pytest.fixture
def api(settings: Settings, db: sa.Engine) -> Iterator[httpx.Client]:
    with db.begin() as conn:
        conn.execute(sa.text("TRUNCATE matrices, api_keys CASCADE"))
    with answering(settings) as client:
        yield client


def test_a_request_that_would_compute_for_too_long_is_refused(api: httpx.Client) -> None:
    matrix = api.post("/matrices", json=TINY).json()["id"]
    asked = {"matrix_id": matrix, **MDAD}
    (error,) = problem(api.post("/mdad", json=asked | {"trials": 100}), 422, "too-costly")["errors"]
    assert "s on one core" in error["message"]
    assert "fewer trials" in error["message"]
    assert api.post("/mdad", json=asked | {"trials": 8}).status_code == 202
    # What is computed by formula needs no trials.
    exact = {"matrix_id": matrix, "methods": ["random"], "holdout": 0, "target_models": "all", "trials": 1000}
    assert api.post("/mdad", json=exact).status_code == 202


def test_a_workspace_has_so_many_unfinished_jobs(api: httpx.Client, db: sa.Engine) -> None:
    keys = [make(db, name) for name in ("one", "two")]
    one, two = (
        {"headers": headers, "matrix": api.post("/matrices", json=TINY, headers=headers).json()["id"]}
        for headers in map(bearing, keys)
    )

    def ask(of: dict[str, dict[str, str]], seed: int) -> httpx.Response:
        body = {"matrix_id": of["matrix"], "method": "random", "size": 2, "seed": seed}
        return api.post("/select", json=body, headers=of["headers"])

    first, second = ask(one, 1), ask(one, 2)
    refused = ask(one, 3)
    (error,) = problem(refused, 429, "too-many-jobs")["errors"]
    assert "2 jobs of this workspace" in error["message"]
    assert int(refused.headers["Retry-After"]) > 0
    # An equal request finds its job, and others have room of their own.
    assert ask(one, 2).json()["id"] == second.json()["id"]
    assert ask(two, 3).status_code == 202
    assert api.post(f"{first.headers['Location']}/cancel", headers=one["headers"]).status_code == 202
    assert ask(one, 3).status_code == 202


def test_a_workspace_stores_so_much(api: httpx.Client, db: sa.Engine) -> None:
    one, two = (bearing(make(db, name)) for name in ("one", "two"))
    kept = api.post("/matrices", json=TINY, headers=one).json()["id"]
    while (answer := api.post("/matrices", json=TINY, headers=one)).status_code == 201:
        pass
    (error,) = problem(answer, 409, "storage-full")["errors"]
    assert "may take 600" in error["message"]
    assert api.post("/matrices", json=TINY, headers=two).status_code == 201
    assert api.delete(f"/matrices/{kept}", headers=one).status_code == 204
    assert api.post("/matrices", json=TINY, headers=one).status_code == 201


def test_what_is_stored_is_counted(api: httpx.Client, db: sa.Engine) -> None:
    """Through new models, new revisions, and the end of old ones."""
    matrix = api.post("/matrices", json=TINY).json()["id"]
    for content in (ONE_MODEL, ONE_MODEL.replace(b"1,0", b"0,1"), ONE_MODEL):
        api.put(f"/matrices/{matrix}/models/new", content=content, headers=CSV).raise_for_status()
        assert counted(db) == found(db)
    with db.begin() as conn:
        conn.execute(sa.text("UPDATE matrix_revisions SET created_at = now() - interval '2 days'"))
        day = timedelta(days=1)
        assert sweep(conn, RetentionAges(day, None, day))["rows"] == 2
    assert counted(db) == found(db)


def counted(db: sa.Engine) -> int:
    with db.connect() as conn:
        return matrices.stored_bytes(conn)


def found(db: sa.Engine) -> int:
    """By the lengths of every value there is; the bounds change a little with each model."""
    header = ["examples", "strata", "embeddings", "header_sha256", "origin", "bounds"]
    row = ["scores", "missing", "confidences", "states", "repeats"]
    with db.connect() as conn:
        return size(conn, "matrices", header) + size(conn, "matrix_rows", row)


def size(conn: sa.Connection, table: str, names: list[str]) -> int:
    each = " + ".join(f"coalesce(octet_length({name}), 0)" for name in names)
    return int(conn.scalar(sa.text(f"SELECT coalesce(sum({each}), 0) FROM {table}")) or 0)
