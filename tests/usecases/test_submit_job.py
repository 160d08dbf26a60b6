from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine

from service.core.errors import InvalidRequest, NotFound, TooCostly
from service.engine.data.matrix import Matrix
from service.store import matrices
from service.usecases.submit_job import JobLimits, JobRequest, submit_job

LIMITS = JobLimits(cpu_seconds=1e6, unfinished_jobs=10, trials=100, sizes=2)


@pytest.fixture(scope="module")
def matrix_id(db: Engine) -> str:
    scores = np.random.default_rng(0).integers(0, 2, (6, 20))
    names = [f"m{at}" for at in range(6)], [f"e{at:02}" for at in range(20)]
    with db.begin() as conn:
        return matrices.create(conn, Matrix.build(*names, scores), name="small").id


def submitted(db: Engine, matrix_id: str, limits: JobLimits = LIMITS, **settings: Any) -> tuple[Any, bool]:
    request = JobRequest("select", matrix_id, None, {"method": "random", "size": 5, "seed": 1} | settings)
    with db.begin() as conn:
        return submit_job(conn, request, limits)


def test_an_equal_request_is_the_same_job(db: Engine, matrix_id: str) -> None:
    first, created = submitted(db, matrix_id)
    second, again = submitted(db, matrix_id)
    assert (created, again, first.id == second.id) == (True, False, True)
    assert submitted(db, matrix_id, seed=2)[0].id != first.id


@pytest.mark.parametrize(
    ("settings", "error", "field"),
    [
        ({"size": 21}, InvalidRequest, "/size"),
        ({"trials": 101}, InvalidRequest, "/trials"),
        ({"sizes": [1, 2, 3]}, InvalidRequest, "/sizes"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_field(
    db: Engine, matrix_id: str, settings: dict[str, Any], error: type[InvalidRequest], field: str
) -> None:
    with pytest.raises(error) as refused:
        submitted(db, matrix_id, **settings)
    assert refused.value.faults[0].pointer == field


def test_an_unknown_revision_and_a_costly_request_are_refused(db: Engine, matrix_id: str) -> None:
    with pytest.raises(NotFound) as refused, db.begin() as conn:
        submit_job(conn, JobRequest("select", matrix_id, 9, {"method": "random", "size": 5}), LIMITS)
    assert refused.value.faults[0].pointer == "/revision"
    mdad = JobRequest(
        "mdad", matrix_id, None, {"methods": ["optimal_design"], "sizes": [5], "trials": 10, "seed": 0}
    )
    with pytest.raises(TooCostly), db.begin() as conn:
        submit_job(conn, mdad, JobLimits(1e-9, 10, 100, 2))
