"""One experiment on one worker process and on two."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator

import httpx

from benchmarks.experiments import PAPER, SHARED
from benchmarks.row import Row
from tests.acceptance.running import result, serving


def rows() -> Iterator[Row]:
    content = (SHARED / "data" / "gpqa" / "correctness.csv.gz").read_bytes()
    one, two = _seconds(content, 1), _seconds(content, 2)
    yield Row("GPQA, six methods, two workers / one: s", two, one, 0.6)


def _seconds(content: bytes, workers: int) -> float:
    """From POST to result, after a warm-up that has loaded the matrix and the methods everywhere."""
    request = {**PAPER, "sizes": [10, 25, 50, 100, 200]}
    with (
        tempfile.TemporaryDirectory() as folder,
        serving("--workers", str(workers), "--data-dir", folder) as served,
        httpx.Client(base_url=served.address, timeout=60) as client,
    ):
        answer = client.post("/matrices", content=content, params={"orientation": "models_as_rows"})
        matrix = {"matrix_id": answer.raise_for_status().json()["id"]}
        for seed in range(2):
            result(client, client.post("/mdad", json={**matrix, **request, "trials": 4, "seed": seed}))
        start = time.perf_counter()
        result(client, client.post("/mdad", json={**matrix, **request}))
        return time.perf_counter() - start
