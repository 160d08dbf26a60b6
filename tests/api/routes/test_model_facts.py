"""Family, release date and tags of models: told at upload or later, listed, and used for what to expect."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.test_http import problem
from tests.api.working import Worker

MODELS = [f"lab/qwen-{i}" if i % 2 else f"lab__llama-{i}" for i in range(20)]
TABLE = "model,family,released,tags\n" + "\n".join(
    f"{model},,{2023 + i // 12}-{i % 12 + 1:02}-01," for i, model in enumerate(MODELS)
)


def matrix(rising: bool) -> dict[str, Any]:
    """Twenty models, each better than the one before it, or in no order."""
    order = np.arange(20) if rising else np.random.default_rng(1).permutation(20)
    difficulty = np.random.default_rng(2).random(60)
    scores = (difficulty < 0.2 + 0.6 * order[:, None] / 20 + 0.05 * np.sin(np.arange(60))).astype(int)
    return {"models": MODELS, "examples": [f"e{j:02}" for j in range(60)], "scores": scores.tolist()}


def uploaded(api: httpx.Client, body: dict[str, Any], table: str = TABLE) -> str:
    answer = api.post("/matrices", json=body, params={"models": table})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def listed(api: httpx.Client, matrix_id: str) -> dict[str, dict[str, Any]]:
    return {one["model"]: one for one in api.get(f"/matrices/{matrix_id}/models").json()["items"]}


def test_a_table_beside_the_upload_is_kept_and_families_are_only_proposed(api: httpx.Client) -> None:
    found = listed(api, uploaded(api, matrix(rising=True)))

    assert found["lab/qwen-1"]["released"] == "2023-02-01"
    assert found["lab/qwen-1"]["family"] is None
    assert found["lab/qwen-1"]["guessed_family"] == "qwen"
    assert found["lab__llama-0"]["guessed_family"] == "llama"


def test_facts_change_one_by_one_and_null_clears(api: httpx.Client) -> None:
    path = f"/matrices/{uploaded(api, matrix(rising=True))}/models/lab/qwen-1"

    told = api.patch(path, json={"family": "qwen", "tags": ["chat", "small"]}).json()
    dated = api.patch(path, json={"released": "2024-09-19"}).json()
    cleared = api.patch(path, json={"released": None}).json()

    assert (told["family"], told["released"], told["tags"]) == ("qwen", "2023-02-01", ["chat", "small"])
    assert dated["released"] == "2024-09-19"
    assert (cleared["family"], cleared["released"], cleared["tags"]) == ("qwen", None, ["chat", "small"])


def test_models_and_fields_that_are_not_there_are_named(api: httpx.Client) -> None:
    matrix_id = uploaded(api, matrix(rising=True))

    unknown = api.patch(f"/matrices/{matrix_id}/models/nobody", json={"family": "x"})
    stranger = api.post("/matrices", json=matrix(rising=True), params={"models": "model,family\nnobody,x"})
    no_date = api.post(
        "/matrices", json=matrix(rising=True), params={"models": "model,released\nlab/qwen-1,May"}
    )

    assert "'nobody'" in problem(unknown, 404, "not-found")["detail"]
    assert "'nobody'" in problem(stranger, 422, "invalid-upload")["detail"]
    assert "a date like 2024-05-31" in problem(no_date, 422, "invalid-upload")["detail"]


@pytest.mark.parametrize(("rising", "expect"), [(True, "better"), (False, "like")])
def test_release_dates_decide_what_new_models_are_expected_to_be(
    api: httpx.Client, db: sa.Engine, settings: Settings, rising: bool, expect: str
) -> None:
    body = {"matrix_id": uploaded(api, matrix(rising)), "method": "optimal_design", "size": 10}

    chosen = Worker(db, settings).result(api, "/select", body)

    assert chosen["expect"] == expect
    assert chosen["expect_reason"].startswith("By release dates")


def test_near_copies_are_named_at_upload_with_the_number_they_count_as(api: httpx.Client) -> None:
    rng = np.random.default_rng(4)
    six = (rng.random((6, 200)) < 0.5).astype(int)
    copies = np.repeat(six, 7, axis=0)
    copies = np.where(rng.random(copies.shape) < 0.03, 1 - copies, copies)
    body = {"models": [f"m{i:02}" for i in range(42)], "examples": [f"e{j:03}" for j in range(200)]}

    answer = api.post("/matrices", json=body | {"scores": copies.tolist()}).json()

    (told,) = [warning for warning in answer["warnings"] if "near copies" in warning]
    assert "42 models count as 6" in told
    assert "'m00' ~ 'm01' ~ 'm02'" in told
