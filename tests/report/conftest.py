"""Results made by the engine, on a small matrix and on the largest the page must bear."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.planning.plan import mdad_plan
from service.engine.reliability import mdad_job
from service.store.records import JobRecord, MatrixRecord

Result = dict[str, Any]
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HASH = "ab" * 32
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }} {% raw %}",
    "مرحبا‮ evil",
    "🦙-7B 模型",
    "=cmd|' /C calc'!A0",
    "control \x01\x1b here",
    "n" * 500,
)


def matrix_of(models: int, examples: int, *, names: tuple[str, ...] = (), seed: int = 0) -> Matrix:
    """Models of rising ability on examples of falling difficulty, in four subtasks."""
    rng = np.random.default_rng(seed)
    ability, ease = np.linspace(-1.5, 1.5, models)[:, None], np.linspace(-1.5, 1.5, examples)
    scores = rng.random((models, examples)) < 1 / (1 + np.exp(-ability - ease))
    ids = [*names, *(f"model-{i:03}" for i in range(models - len(names)))]
    return Matrix.build(
        ids,
        [f"e{j:05}" for j in range(examples)],
        scores,
        subtasks=[f"part {j % 4}" for j in range(examples)],
    )


def result_of(matrix: Matrix, **settings: Any) -> Result:
    """What the service would store, without the ids of a database."""
    plan = mdad_plan(settings, Outline.of(matrix))
    body = mdad_job.assemble(
        matrix, plan, mdad_job.run_all(matrix, plan, lambda done: None), lambda done: None
    )
    return body | {"matrix": {"id": "m", "revision": 1, "content_hash": HASH}}


def scores_of(matrix: Matrix) -> dict[str, float]:
    return dict(zip(matrix.models, matrix.accuracies.tolist(), strict=True))


def record_of(matrix: Matrix, name: str = "bench") -> MatrixRecord:
    return MatrixRecord(
        id="m", name=name, revision=1, n_models=len(matrix.models), n_examples=len(matrix.examples),
        subtasks=matrix.subtasks, binary=matrix.binary, missing_cells=matrix.missing_cells,
        constant_examples=int(matrix.constant.sum()), has_confidences=False, has_embeddings=False,
        content_hash=HASH, created_at=WHEN,
    )  # fmt: skip


def job_of(settings: Result, *, kind: str = "mdad", status: Any = "succeeded", **more: Any) -> JobRecord:
    fields: dict[str, Any] = {
        "id": "j", "kind": kind, "status": status, "settings": settings, "matrix_id": "m", "revision": 1,
        "parts_total": 4, "parts_done": 2, "progress": 0.5, "attempt": 1, "place": None, "seconds_left": None,
        "cancel_requested": False,
        "created_at": WHEN, "started_at": WHEN, "finished_at": WHEN, "error": None,
    }  # fmt: skip
    return JobRecord(**fields | more)


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    return matrix_of(30, 240)


@pytest.fixture(scope="session")
def result(matrix: Matrix) -> Result:
    return result_of(
        matrix,
        methods=["random", "stratified", "confidence_strata"],
        sizes=[10, 25, 50, 100],
        trials=8,
        target_mdad=0.15,
        source_models=12,
        holdout=0.5,
    )


@pytest.fixture(scope="session")
def minimal(matrix: Matrix) -> Result:
    """With everything at its default but the target: sizes are found."""
    return result_of(matrix, methods=["random", "optimal_design"], trials=10, target_mdad=0.08)


@pytest.fixture(scope="session")
def hostile() -> tuple[Matrix, Result]:
    """Models, subtasks and labels that try to break out of the page."""
    matrix = matrix_of(24, 80, names=HOSTILE)
    labels = [{"method": "random", "label": name[:100]} for name in HOSTILE[:2]]
    labels[1] |= {"method": "stratified"}
    return matrix, result_of(matrix, methods=labels, sizes=[5, 20], trials=4, group=list(HOSTILE))
