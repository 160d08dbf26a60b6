"""Whole experiments through the API on two worker processes: seconds, peak memory, and how both grow.

`python -m benchmarks experiments` runs the quick ones; `large` adds those of minutes.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.row import Row
from benchmarks.standing import Watcher
from tests.acceptance.running import Served, result, serving

SHARED = Path(__file__).parents[1].parent / "shared"
SIX = ["random", "stratified", "confidence_strata", "anchor_points", "tinybenchmarks", "diversity"]
PAPER = {"methods": SIX, "trials": 50, "target_models": 50, "source_models": 300, "holdout": 0.5}


def rows() -> Iterator[Row]:
    yield from _run(_gpqa, _growth)


def large_rows() -> Iterator[Row]:
    yield from _run(_mmlu_pro, _many_models)


def _run(*measures: Any) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, serving("--workers", "2", "--data-dir", folder) as served:
        for measure in measures:
            yield from measure(served)


def _gpqa(served: Served) -> Iterator[Row]:
    content = (SHARED / "data" / "gpqa" / "correctness.csv.gz").read_bytes()
    request = {**PAPER, "sizes": [10, 25, 50, 100, 200]}
    seconds, peak = _measure(served, content, request, orientation="models_as_rows")
    yield Row("GPQA, six methods, 5 sizes, 50 trials, 300 sources: s", seconds, limit=60)
    yield Row("  largest process: GB", peak)


def _mmlu_pro(served: Served) -> Iterator[Row]:
    content = _npz(simulated_answers(447, 12_032), 14)
    request = {**PAPER, "sizes": [10, 25, 50, 100, 250, 500, 1000]}
    seconds, peak = _measure(served, content, request)
    yield Row("447 × 12,032, six methods, 7 sizes, 50 trials: s", seconds, limit=1200)
    yield Row("  largest process: GB", peak, limit=2.5)


def _many_models(served: Served) -> Iterator[Row]:
    content = _npz(simulated_answers(5_000, 14_000), 1)
    seconds, peak = _measure(served, content, {"methods": ["random"]})
    yield Row("5,000 × 14,000, random, upload to result: s", seconds, limit=90)
    yield Row("  largest process: GB", peak, limit=2.5)


def _growth(served: Served) -> Iterator[Row]:
    """Seconds at twice and four times the models, examples and trials, beside the smallest."""
    base = {"models": 100, "examples": 500, "trials": 10}
    first = None
    for grown in (None, *base):
        for factor in (1,) if grown is None else (2, 4):
            shape = {name: value * (factor if name == grown else 1) for name, value in base.items()}
            content = _npz(simulated_answers(shape["models"], shape["examples"]), 5)
            request = {"methods": SIX, "sizes": [10, 50, 200], "trials": shape["trials"]}
            seconds, _ = _measure(served, content, request)
            first = first or seconds
            what = (
                "100 models × 500 examples, 10 trials: s" if grown is None else f"  {factor} × the {grown}: s"
            )
            yield Row(what, seconds, None if grown is None else first)


def _measure(served: Served, content: bytes, request: dict[str, Any], **options: str) -> tuple[float, float]:
    """Seconds from the upload to the result, and the largest process's peak memory in GB."""
    with httpx.Client(base_url=served.address, timeout=600) as client, _Peak(served.process.pid) as peak:
        start = time.perf_counter()
        uploaded = client.post("/matrices", params=options, content=content).raise_for_status()
        result(client, client.post("/mdad", json={"matrix_id": uploaded.json()["id"], **request}))
        return time.perf_counter() - start, peak.gigabytes


class _Peak(Watcher):
    """Watches the resident memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        super().__init__(0.1)
        self._root = psutil.Process(pid)
        self.gigabytes = 0.0

    def look(self) -> None:
        """Keep the most of any process."""
        for process in [self._root, *self._root.children(recursive=True)]:
            try:
                self.gigabytes = max(self.gigabytes, process.memory_info().rss / 1e9)
            except psutil.NoSuchProcess:
                continue


def simulated_answers(models: int, examples: int) -> NDArray[np.uint8]:
    """0/1 answers with structure: five skills, models that have them to different degrees."""
    rng = np.random.default_rng(0)
    skill = rng.normal(size=(models, 5)) * 0.6 + rng.normal(size=(models, 1))
    load = np.abs(rng.normal(size=(5, examples))) * 0.5
    easy = rng.normal(size=examples)
    scores = np.empty((models, examples), dtype=np.uint8)
    for start in range(0, models, 500):
        rows = slice(start, start + 500)
        chance = 1 / (1 + np.exp(-(skill[rows] @ load + easy)))
        scores[rows] = rng.random(chance.shape) < chance
    return scores


def _npz(scores: NDArray[np.uint8], subtasks: int) -> bytes:
    models, examples = scores.shape
    file = io.BytesIO()
    np.savez_compressed(
        file,
        models=np.array([f"m{i:05}" for i in range(models)]),
        examples=np.array([f"e{j:05}" for j in range(examples)]),
        scores=scores,
        subtasks=np.array([f"t{j % subtasks:02}" for j in range(examples)]),
    )
    return file.getvalue()
