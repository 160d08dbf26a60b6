"""A full disk is a problem of its own, seen before it happens."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from service.core.settings import MEBIBYTE, Settings
from tests.api.conftest import answering
from tests.api.doors import TINY
from tests.api.test_http import problem


def test_a_full_disk_is_said_before_postgres_stops(
    settings: Settings, tmp_path: Path, api: httpx.Client
) -> None:
    matrix = api.post("/matrices", json=TINY).json()["id"]
    free = shutil.disk_usage(tmp_path).free // MEBIBYTE
    levels = {"ok": free // 100, "low": free // 2, "full": 2 * free}
    assert api.get("/readyz").json()["disk"] == "unknown"
    for disk, least in levels.items():
        own = settings.model_copy(update={"data_dir": str(tmp_path), "min_free_mib": int(least)})
        with answering(own) as watched:
            ready = watched.get("/readyz")
            assert (ready.status_code, ready.json()["disk"]) == (200, disk)
            assert ready.json()["status"] == ("ready" if disk == "ok" else "degraded")
            stored = watched.post("/matrices", json=TINY)
            assert watched.get(f"/matrices/{matrix}").status_code == 200
            if disk == "full":
                problem(stored, 507, "no-space-left")
                asked = {"matrix_id": matrix, "method": "random", "size": 1}
                problem(watched.post("/select", json=asked), 507, "no-space-left")
                question = {"matrix_id": matrix, "baseline": "a", "candidate": "b"}
                assert watched.post("/compare", json=question).status_code == 200
                assert watched.delete(f"/matrices/{matrix}").status_code == 204
            else:
                assert stored.status_code == 201


def test_a_database_that_cannot_write_says_so_and_works_again(api: httpx.Client, db: sa.Engine) -> None:
    """The error is Postgres's own, raised where a full disk would raise it."""
    full = """
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON matrices FOR EACH ROW EXECUTE FUNCTION full_disk();
    """
    with db.begin() as conn:
        conn.execute(sa.text(full))
    problem(api.post("/matrices", json=TINY), 507, "no-space-left")
    with db.begin() as conn:
        conn.execute(sa.text("DROP TRIGGER full_disk ON matrices; DROP FUNCTION full_disk()"))
    assert api.post("/matrices", json=TINY).status_code == 201


def test_an_upload_that_cannot_be_spooled_says_so(api: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("service.api.received_upload.SpooledTemporaryFile", full)
    problem(api.post("/matrices", json=TINY), 507, "no-space-left")
