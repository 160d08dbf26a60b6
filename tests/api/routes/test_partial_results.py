"""A running job shows what its finished parts found."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.test_http import problem
from tests.api.working import Worker

ASK = {
    "holdout": 0.5,
    "methods": ["random", "optimal_design"],
    "sizes": [5, 10],
    "trials": 200,
    "source_models": 10,
}


@pytest.fixture(scope="module")
def matrix(api: httpx.Client) -> str:
    scores = np.random.default_rng(0).random((24, 80)) < np.linspace(0.2, 0.9, 24)[:, None]
    table = {
        "models": [f"m{i}" for i in range(24)],
        "examples": [f"e{j}" for j in range(80)],
        "scores": scores.astype(int).tolist(),
    }
    answer = api.post("/matrices", json=table)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_finished_parts_are_shown_until_the_result_is_there(
    api: httpx.Client, matrix: str, db: sa.Engine, settings: Settings
) -> None:
    job: dict[str, Any] = api.post("/mdad", json=ASK | {"matrix_id": matrix}).json()
    path = f"/jobs/{job['id']}/partial"
    assert api.get(path).json() == {"trials_done": 0, "trials": 200, "methods": []}
    worker = Worker(db, settings)
    worker.part(job["id"], 0)
    first = api.get(path).json()
    assert 0 < first["trials_done"] < 200
    assert [method["label"] for method in first["methods"]] == ["random", "optimal_design"]
    worker.finish(job["id"])
    result = api.get(f"/jobs/{job['id']}/result").json()
    for method, line in zip(first["methods"], result["methods"], strict=True):
        for cell, entry in zip(method["sizes"], line["sizes"], strict=True):
            assert cell["new_items"]["agreement"] == pytest.approx(entry["new_items"]["agreement"], abs=0.03)
    assert "has succeeded" in problem(api.get(path), 409, "conflict")["detail"]


def test_a_selection_has_none(api: httpx.Client, matrix: str) -> None:
    ask = {"matrix_id": matrix, "method": "random", "size": 5}
    job = api.post("/select", json=ask).json()
    problem(api.get(f"/jobs/{job['id']}/partial"), 409, "conflict")
    problem(api.get("/jobs/0198c0de-7a57-7e57-8000-00000000ffff/partial"), 404, "not-found")


def test_a_cancelled_job_is_not_said_to_have_a_result(api: httpx.Client, matrix: str) -> None:
    ask = {"matrix_id": matrix, "methods": ["random"], "sizes": [5], "seed": 77}
    job = api.post("/mdad", json=ask).json()
    api.post(job["links"]["cancel"])
    for path in ("partial", "result"):
        detail = problem(api.get(f"/jobs/{job['id']}/{path}"), 409, "conflict")["detail"]
        assert "was cancelled and has no result" in detail
