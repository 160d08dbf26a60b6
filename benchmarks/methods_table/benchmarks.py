"""The benchmarks the table is measured on, and the models it is judged by."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.make_sample import OUTPUT


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Models × examples; only `judges` are ever targets: no choice of design was made on them."""

    name: str
    scores: NDArray[np.generic]
    strata: NDArray[np.int32]
    judges: NDArray[np.int64]
    most_sources: int
    families: NDArray[np.int64] | None = None


def benchmarks(shared: Path) -> list[Benchmark]:
    """GPQA, the sample as right or wrong, the sample's confidences as graded scores, unrelated skills."""
    with np.load(OUTPUT, allow_pickle=False) as arrays:
        sample = dict(arrays)
    digits = np.unique(sample["subtasks"], return_inverse=True)[1].astype(np.int32)
    kinds = np.unique([name.split("-")[0] for name in sample["models"]], return_inverse=True)[1]
    rows = _odd(len(kinds))
    gpqa = _gpqa(shared / "data" / "gpqa" / "correctness.csv.gz")
    return [
        Benchmark("GPQA", gpqa, np.zeros(gpqa.shape[1], dtype=np.int32), _odd(len(gpqa)), 300),
        Benchmark("digits", sample["scores"], digits, rows, 50, kinds),
        Benchmark("digits, graded", sample["confidences"].astype(np.float64), digits, rows, 50, kinds),
        _unrelated_skills(),
    ]


def public_matrices() -> list[tuple[str, NDArray[np.float64]]]:
    """The five public matrices beside the project, models × examples, 0/1."""
    folder = Path(__file__).parents[2].parent / "shared" / "data"
    paths = [folder / "gpqa" / "correctness.csv.gz"]
    paths += [
        folder / "public" / f"{name}.csv.gz" for name in ("arc_challenge", "ifeval", "musr", "openllm_math")
    ]
    return [(path.name.partition(".")[0], _gpqa(path).astype(np.float64)) for path in paths]


def _odd(models: int) -> NDArray[np.int64]:
    return np.arange(1, models, 2)


def _gpqa(path: Path) -> NDArray[np.uint8]:
    with gzip.open(path, "rt") as lines:
        rows = csv.reader(lines)
        next(rows)
        return np.array([row[1:] for row in rows]).astype(np.float64).astype(np.uint8)


def _unrelated_skills(models: int = 300, examples: int = 600, subtasks: int = 6) -> Benchmark:
    """Each subtask asks for a skill of its own; two-parameter logistic."""
    rng = np.random.default_rng(2026)
    strata = np.sort(rng.integers(0, subtasks, examples)).astype(np.int32)
    skill = rng.normal(size=(models, subtasks))[:, strata]
    steep, hard = rng.lognormal(0, 0.5, examples), rng.normal(0, 1.2, examples)
    scores = rng.random((models, examples)) < 1 / (1 + np.exp(-steep * (skill - hard)))
    return Benchmark("unrelated skills", scores.astype(np.uint8), strata, np.arange(models), 150)
