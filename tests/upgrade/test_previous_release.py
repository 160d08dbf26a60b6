"""The previous release works on this release's schema, and beside this release: no downtime."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from tests.acceptance.running import finished, result
from tests.upgrade.releases import ROOT, Release, previous, unpack

TINY = {
    "models": ["a", "b", "c", "d"],
    "examples": ["u", "v", "w", "x", "y", "z"],
    "scores": [[1, 0, 1, 1, 0, 0], [1, 1, 0, 0, 1, 0], [0, 1, 1, 1, 1, 1], [0, 0, 1, 0, 0, 1]],
}
COLUMNS = """
import json, service.store.tables as t
columns = {name: [c.name for c in table.columns] for name, table in t.metadata.tables.items()}
print(json.dumps([t.__file__, columns]))
"""


@pytest.fixture(scope="module")
def env(postgres_url: str, redis_url: str) -> dict[str, str]:
    return {"DATABASE_URL": postgres_url, "REDIS_URL": redis_url, "TASTETEST_RECONCILE_SECONDS": "0.5"}


@pytest.fixture(scope="module")
def old(env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("previous")
    unpack(previous(), folder)
    return Release(folder, env)


@pytest.fixture(scope="module")
def new(env: dict[str, str]) -> Release:
    return Release(ROOT, env)


def test_what_the_previous_release_writes_the_schema_still_takes(old: Release, db: sa.Engine) -> None:
    """No column it knows is gone, and those it does not know fill themselves."""
    file, known = json.loads(old.python("-c", COLUMNS))
    assert Path(file).is_relative_to(old.folder)
    inspector = sa.inspect(db)
    for table, columns in known.items():
        found = {column["name"]: column for column in inspector.get_columns(table)}
        assert set(columns) <= set(found), table
        for name in set(found) - set(columns):
            fills_itself = found[name]["nullable"] or found[name]["default"] is not None
            assert fills_itself, f"{table}.{name} needs a server default, or to be nullable"


def test_jobs_pass_between_the_releases(old: Release, new: Release) -> None:
    """As in a rolling upgrade: the schema first, then the workers, then the servers."""
    with contextlib.ExitStack() as clients, old.api() as old_ready, new.api() as new_ready:
        before, after = old_ready(), new_ready()
        olds = clients.enter_context(httpx.Client(base_url=before, timeout=60))
        news = clients.enter_context(httpx.Client(base_url=after, timeout=60))
        assert olds.get("/readyz").status_code == 200
        matrix = olds.post("/matrices", json=TINY).raise_for_status().json()
        assert news.get(f"/matrices/{matrix['id']}").json()["content_hash"] == matrix["content_hash"]
        asked = {"matrix_id": matrix["id"], "methods": ["random"], "sizes": [2], "trials": 4}
        with old.worker():
            job = finished(olds, olds.post("/mdad", json=asked))
        assert job["status"] == "succeeded"
        assert news.get(job["links"]["result"]).content == olds.get(job["links"]["result"]).content
        with new.worker():
            for seed, servers in enumerate((olds, news), start=1):
                found = json.loads(result(servers, servers.post("/mdad", json=asked | {"seed": seed})))
                assert found["methods"]
