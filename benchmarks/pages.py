"""The report of a large job, as a browser fetches it: `python -m benchmarks pages`."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import httpx

from benchmarks.experiments import simulated_answers
from benchmarks.row import Row
from tests.acceptance.running import finished, serving

MODELS, EXAMPLES, READS = 450, 2100, 20
ASK: dict[str, Any] = {
    "methods": [
        *("random", "stratified", "confidence_strata", "diversity", "optimal_design"),
        {"method": "random", "estimator": "blp"},
    ],
    "sizes": [10, 25, 50, 100, 250, 500, 1000],
    "source_models": 100,
    "trials": 5,
}


def rows() -> Iterator[Row]:
    with (
        tempfile.TemporaryDirectory() as folder,
        serving("--workers", "2", "--data-dir", folder) as served,
        httpx.Client(base_url=served.address, timeout=600) as client,
    ):
        table = {
            "models": [f"model-{i:03}" for i in range(MODELS)],
            "examples": [f"example-{j:04}" for j in range(EXAMPLES)],
            "scores": simulated_answers(MODELS, EXAMPLES).tolist(),
            "subtasks": [f"subtask {j % 14}" for j in range(EXAMPLES)],
        }
        matrix = client.post("/matrices", json=table).raise_for_status().json()["id"]
        job = finished(client, client.post("/mdad", json=ASK | {"matrix_id": matrix}))
        assert job["status"] == "succeeded", job
        bare, _ = _read(client, "/livez")
        pages = {
            f"report, 6 methods × 7 sizes, {MODELS} models": f"/jobs/{job['id']}/report",
            f"matrix, {MODELS} × {EXAMPLES:,}": f"/matrices/{matrix}/page",
        }
        for name, path in pages.items():
            seconds, size = _read(client, path)
            yield Row(f"{name}: s", seconds, limit=0.3)
            yield Row("  … beside /livez", seconds, bare)
            yield Row("  … kB", size / 1000, limit=500)


def _read(client: httpx.Client, path: str) -> tuple[float, int]:
    """Median seconds from request to the last byte, and the bytes as they are sent."""
    seconds, size = [], 0
    for _ in range(READS):
        start = time.perf_counter()
        answer = client.get(path).raise_for_status()
        seconds.append(time.perf_counter() - start)
        size = answer.num_bytes_downloaded
    return statistics.median(seconds), size
