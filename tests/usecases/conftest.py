"""A matrix and a selection of it, in the module's own database."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import Engine

from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.microbenchmark.select import run
from service.engine.planning.plan import select_plan
from service.store import matrices, selections
from service.store.records import MatrixRecord


@pytest.fixture(scope="module")
def benchmark() -> Matrix:
    """Twelve models on 40 examples; model at scores about (at + 1) / 13."""
    rng = np.random.default_rng(5)
    scores = rng.random((12, 40)) < (np.arange(12)[:, None] + 1) / 13
    return Matrix.build([f"m{at:02}" for at in range(12)], [f"e{at:02}" for at in range(40)], scores)


@pytest.fixture(scope="module")
def stored(db: Engine, benchmark: Matrix) -> MatrixRecord:
    with db.begin() as conn:
        return matrices.create(conn, benchmark, name="small")


@pytest.fixture(scope="module")
def selection(db: Engine, benchmark: Matrix, stored: MatrixRecord) -> str:
    """Thirty examples at random."""
    settings = {"method": "random", "size": 30, "seed": 1}
    body = run(benchmark, select_plan(settings, Outline.of(benchmark)), lambda _: None)
    name = "0198c0de-7a57-7e57-8000-000000000001"
    with db.begin() as conn:
        selections.add(
            conn,
            selection_id=name,
            matrix_id=stored.id,
            revision=stored.revision,
            method="random",
            size=30,
            body=body,
            content_hash="0" * 64,
        )
    return name
