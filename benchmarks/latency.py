"""The smallest job from POST to result, and reading a job, each beside the barest thing that could do it."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np

from benchmarks.row import Row
from benchmarks.standing import servers
from service.cli import default_stack
from service.store.database import make_engine
from tests.acceptance.running import finished, result, serving
from tests.api.doors import bearing, make

JOBS = 50
READS = 400


def rows() -> Iterator[Row]:
    with (
        servers() as (folder, env),
        serving("--workers", "1", "--data-dir", folder, env=env) as served,
        serving("--workers", "0", env=env | {"TASTETEST_AUTH": "required"}) as asking,
        yardsticks(env) as bare_address,
        httpx.Client(base_url=served.address) as client,
        httpx.Client(base_url=asking.address) as keyed,
        httpx.Client(base_url=bare_address) as bare,
    ):
        yield from _measure(client, bare)
        job_id = client.get("/jobs").raise_for_status().json()["items"][0]["id"]
        # From the first key on the other server asks for one, too.
        keyed.headers.update(bearing(_key(env["DATABASE_URL"])))
        yield _reading(keyed, bare, job_id, "GET /jobs/{id} with a key")


def _key(database_url: str) -> str:
    engine = make_engine(database_url)
    try:
        return make(engine)
    finally:
        engine.dispose()


def _reading(client: httpx.Client, bare: httpx.Client, job_id: str, what: str) -> Row:
    read, select = _alternate(
        READS,
        lambda _: client.get(f"/jobs/{job_id}").raise_for_status(),
        lambda _: bare.get(f"/one/{job_id}").raise_for_status(),
    )
    return Row(f"{what} / bare route with one SELECT", read, select, 2)


def _measure(client: httpx.Client, bare: httpx.Client) -> Iterator[Row]:
    from benchmarks.noop import noop

    matrix = client.post("/matrices", json=smallest()).raise_for_status().json()["id"]

    def job(seed: int) -> dict[str, Any]:
        return {"matrix_id": matrix, "methods": ["random"], "seed": seed}

    def post_to_result(seed: int) -> None:
        result(client, client.post("/mdad", json=job(seed)))

    posted, idle = _alternate(JOBS, post_to_result, lambda _: noop.delay().get(timeout=10))
    yield Row("smallest job, POST to result / no-op Celery task", posted, idle, 25)
    job_id = finished(client, client.post("/mdad", json=job(0)))["id"]
    yield _reading(client, bare, job_id, "GET /jobs/{id}")


def _alternate(times: int, *calls: Callable[[int], Any]) -> tuple[float, ...]:
    """Median seconds of each call, run in turn so that the machine's drift meets all alike."""
    for call in calls:
        call(-1 % 10_000)
    seconds: list[list[float]] = [[] for _ in calls]
    for i in range(1, times + 1):
        for call, taken in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call(i)
            taken.append(time.perf_counter() - start)
    return tuple(statistics.median(taken) for taken in seconds)


@contextlib.contextmanager
def yardsticks(env: dict[str, str]) -> Iterator[str]:
    """A worker for the no-op task and a server for the bare route; yields its address."""
    worker = [sys.executable, "-m", "celery", "-A", "benchmarks.noop", "worker", "--concurrency", "1"]
    worker += ["--queues", "noop", "--loglevel", "ERROR", "--without-gossip", "--without-mingle"]
    port = "18765"
    server = [sys.executable, "-m", "uvicorn", "--factory", "benchmarks.noop:bare", "--port", port]
    server += ["--log-level", "error", "--no-access-log"]
    processes = [subprocess.Popen(command, env=os.environ | env) for command in (worker, server)]
    try:
        _wait_for(f"http://127.0.0.1:{port}/openapi.json")
        yield f"http://127.0.0.1:{port}"
    finally:
        for process in processes:
            default_stack.stop(process)


def _wait_for(url: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url)
            return
        time.sleep(0.05)
    raise TimeoutError(url)


def smallest() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    ability, difficulty = rng.normal(size=20), rng.normal(size=100)
    scores = rng.random((20, 100)) < 1 / (1 + np.exp(difficulty[None] - ability[:, None]))
    models, examples = [f"m{i:02}" for i in range(20)], [f"e{j:03}" for j in range(100)]
    return {"models": models, "examples": examples, "scores": scores.astype(int).tolist()}
