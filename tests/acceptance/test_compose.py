"""Every command of docker-compose.yml runs as written, and together they do a job."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from sqlalchemy import make_url

from tests.acceptance.running import result

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"
COMPOSE = yaml.safe_load(FILE.read_text())
OURS = {name: service for name, service in COMPOSE["services"].items() if "build" in service}
BIN = ROOT / ".venv" / "bin"


@pytest.fixture
def environment(empty_postgres_url: str, redis_url: str, tmp_path: Path) -> dict[str, str]:
    """What the compose file declares, with this test's servers, and its secret in a file of this test's."""
    (tmp_path / "database_url").write_text(f"{empty_postgres_url}\n")
    role = f"tastetest_api_{tmp_path.name.replace('-', '_')}"
    api = make_url(empty_postgres_url).set(username=role, password="of-this-test")
    (tmp_path / "api_database_url").write_text(f"{api.render_as_string(hide_password=False)}\n")
    servers = {
        "DATABASE_URL_FILE": str(tmp_path / "database_url"),
        "TASTETEST_API_DATABASE_URL_FILE": str(tmp_path / "api_database_url"),
        "REDIS_URL": redis_url,
    }
    declared = {name: value for service in OURS.values() for name, value in service["environment"].items()}
    assert declared["DATABASE_URL_FILE"] == "/run/secrets/database_url"
    assert declared["TASTETEST_API_DATABASE_URL_FILE"] == "/run/secrets/api_database_url"
    return {name: "" if value.startswith("${") else value for name, value in declared.items()} | servers


@contextlib.contextmanager
def started(name: str, environment: dict[str, str], **replaced: str) -> Iterator[subprocess.Popen[str]]:
    command = [replaced.get(word, word) for word in OURS[name]["command"]]
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | environment | {"PATH": path}
    env.pop("DATABASE_URL", None)
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=30)
        print(f"--- {name}\n{output}")


def test_the_composed_service_runs_a_job(environment: dict[str, str]) -> None:
    assert set(OURS) == {"migrate", "api", "worker", "webhooks", "beat"}
    with started("migrate", environment) as migrate:
        assert migrate.wait(60) == 0
    with (
        started("beat", environment),
        started("worker", environment),
        started("webhooks", environment),
        # The port is the machine's in a container; here a free one is asked for.
        started("api", environment, **{"8000": "0"}) as api,
    ):
        lines: list[str] = []
        address = ready(api, lines).replace("0.0.0.0", "127.0.0.1")
        assert not any("row-level security is not in force" in line for line in lines)
        with httpx.Client(base_url=address, timeout=60) as client:
            assert client.get("/readyz").status_code == 200
            assert client.get("/matrices").status_code == 401
            client.headers["Authorization"] = f"Bearer {key(environment)}"
            matrix = client.post("/matrices", json=tiny()).json()
            body = {"matrix_id": matrix["id"], "methods": ["random"], "sizes": [4], "trials": 5}
            assert json.loads(result(client, client.post("/mdad", json=body)))["methods"]
        here = {"http://127.0.0.1:8000": address}
        assert all(
            becomes_healthy(name, environment, **here) for name in ("api", "worker", "webhooks", "beat")
        )
    assert probe("api", environment, **here).wait(60) == 1


def key(environment: dict[str, str]) -> str:
    """Made by the command that the file names."""
    (words,) = re.findall(r"^#   docker compose run --rm migrate (.+)$", FILE.read_text(), re.MULTILINE)
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    made = subprocess.run(
        words.split(),
        env=os.environ | environment | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def probe(name: str, environment: dict[str, str], **replaced: str) -> subprocess.Popen[bytes]:
    """A service's health check; a container's `python` is this one."""
    kind, *command = OURS[name]["healthcheck"]["test"]
    assert kind == "CMD"
    words = [{"python": sys.executable, **replaced}.get(word, word) for word in command]
    return subprocess.Popen(words, env=os.environ | environment)


def becomes_healthy(name: str, environment: dict[str, str], **replaced: str) -> bool:
    """Whether the health check passes while its start period lasts, as a container's may at first fail."""
    end = time.monotonic() + float(OURS[name]["healthcheck"]["start_period"].removesuffix("s"))
    while (failed := probe(name, environment, **replaced).wait(60) != 0) and time.monotonic() < end:
        continue
    return not failed


def ready(process: subprocess.Popen[str], lines: list[str]) -> str:
    """The address once it answers; what the process wrote before is added to `lines`."""
    assert process.stdout is not None
    deadline = time.monotonic() + 60
    for line in process.stdout:
        lines.append(line)
        if found := re.search(r"ready on (http://\S+)", line):
            return found.group(1)
        assert time.monotonic() < deadline
    raise AssertionError("the API did not start")


def tiny() -> dict[str, Any]:
    models, examples = [f"m{i}" for i in range(4)], [f"e{j}" for j in range(12)]
    scores = [[int((i * 7 + j * (i + 2)) % 5 < 2 + i % 2) for j in range(12)] for i in range(4)]
    return {"models": models, "examples": examples, "scores": scores}
