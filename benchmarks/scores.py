"""Estimating a new model's full score over HTTP: `python -m benchmarks scores`."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator

import httpx
import numpy as np

from benchmarks.experiments import simulated_answers
from benchmarks.row import Row
from tests.acceptance.running import result, serving

MODELS, CALLS, LIMIT = 500, 40, 0.05


def rows() -> Iterator[Row]:
    with (
        tempfile.TemporaryDirectory() as folder,
        serving("--workers", "1", "--data-dir", folder) as served,
        httpx.Client(base_url=served.address, timeout=600) as client,
    ):
        for examples, size in ((1_000, 100), (5_000, 1_000)):
            for method in ("random", "optimal_design"):
                seconds, first = _seconds(client, examples, size, method)
                what = f"/scores, {MODELS} known × {examples:,}, {size:,} by {method}"
                yield Row(f"{what}: s", seconds, limit=LIMIT)
                yield Row("  … the first call on a selection", first, seconds)


def _seconds(client: httpx.Client, examples: int, size: int, method: str) -> tuple[float, float]:
    """Median of the calls, and the first one."""
    names = [f"e{j:05}" for j in range(examples)]
    table = {
        "models": [f"m{i:03}" for i in range(MODELS)],
        "examples": names,
        "scores": simulated_answers(MODELS, examples).tolist(),
    }
    matrix = client.post("/matrices", json=table).raise_for_status().json()["id"]
    ask = {"matrix_id": matrix, "method": method, "size": size}
    chosen = json.loads(result(client, client.post("/select", json=ask)))
    ids = [example["id"] for example in chosen["examples"]]
    answers = np.random.default_rng(0).integers(0, 2, size).tolist()
    body = {"models": ["new"], "examples": ids, "scores": [answers]}
    taken = []
    for _ in range(1 + CALLS):
        start = time.perf_counter()
        client.post(f"/selections/{chosen['selection_id']}/scores", json=body).raise_for_status()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:]), taken[0]
