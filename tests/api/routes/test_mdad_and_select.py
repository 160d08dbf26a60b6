"""Choices with conditions, asked for by example id, made by a worker."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.routes.test_compare import EXAMPLES, MODELS, scores
from tests.api.test_http import problem
from tests.api.working import Worker

COSTS = {example: 1.0 + at % 7 for at, example in enumerate(EXAMPLES)}


@pytest.fixture(scope="module")
def matrix(api: httpx.Client) -> str:
    subtasks = ["even" if j % 2 == 0 else "odd" for j in range(len(EXAMPLES))]
    # In an order that is not that of the ids, which positions must not follow.
    table = {"models": MODELS, "examples": EXAMPLES[::-1], "scores": scores()[:, ::-1].tolist()}
    answer = api.post("/matrices", json={**table, "subtasks": subtasks[::-1]})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_what_must_be_in_is_and_what_must_not_is_not(
    api: httpx.Client, matrix: str, db: sa.Engine, settings: Settings
) -> None:
    options = {"include": ["e150", "e003"], "exclude": ["e007"], "per_subtask": 9}
    body = {"matrix_id": matrix, "method": "optimal_design", "size": 20, "options": options}
    chosen = Worker(db, settings).result(api, "/select", body)
    ids = [example["id"] for example in chosen["examples"]]
    assert len(ids) == 20
    assert {"e003", "e150"} <= set(ids)
    assert "e007" not in ids
    assert min(sum(int(i[1:]) % 2 == side for i in ids) for side in (0, 1)) >= 9
    assert chosen["options"]["include"] == ["e150", "e003"]


def test_a_budget_is_spent_and_not_overspent(
    api: httpx.Client, matrix: str, db: sa.Engine, settings: Settings
) -> None:
    body = {
        "matrix_id": matrix,
        "method": "optimal_design",
        "options": {"costs": COSTS, "budget": 40},
    }
    chosen = Worker(db, settings).result(api, "/select", body)
    spent = sum(COSTS[example["id"]] for example in chosen["examples"])
    assert spent <= 40
    assert chosen["size"] == len(chosen["examples"]) > 10
    left = set(EXAMPLES) - {example["id"] for example in chosen["examples"]}
    assert all(spent + COSTS[example] > 40 for example in left)


def test_a_budget_of_exactly_the_cheapest_example_pays_for_one(
    api: httpx.Client, matrix: str, db: sa.Engine, settings: Settings
) -> None:
    """Stored, 1e308 comes back as the whole number, which is a little less than the float."""
    options = {"costs": dict.fromkeys(EXAMPLES, 1e308), "budget": 1e308}
    body = {"matrix_id": matrix, "method": "optimal_design", "options": options}
    assert Worker(db, settings).result(api, "/select", body)["size"] == 1


def test_a_check_gets_its_size_and_the_selection_says_what_it_sees(
    api: httpx.Client, matrix: str, db: sa.Engine, settings: Settings
) -> None:
    worker = Worker(db, settings)
    ask = {"matrix_id": matrix, "methods": ["random"], "purpose": "pull_request_check", "drop": 0.2}
    found = worker.result(api, "/mdad", ask)
    advice = found["recommendation"]
    assert advice["size"] == found["gates"][0]["size"]
    report = api.get(f"/jobs/{api.post('/mdad', json=ask).json()['id']}/report").text
    assert "What can a pull-request check see?" in report
    chosen = worker.result(api, "/select", {"matrix_id": matrix, **advice["select"]})
    assert chosen["gate"]["size"] == advice["size"]
    assert chosen["gate"]["smallest_detectable_drop"] == pytest.approx(0.2, abs=0.05)


def test_a_check_must_say_what_it_is_to_find(api: httpx.Client, matrix: str) -> None:
    said = problem(
        api.post("/mdad", json={"matrix_id": matrix, "purpose": "pull_request_check"}), 422, "invalid-request"
    )
    assert said["errors"][0]["pointer"] == "/drop"
    said = problem(api.post("/mdad", json={"matrix_id": matrix, "drop": 0.1}), 422, "invalid-request")
    assert said["errors"][0]["pointer"] == "/drop"


@pytest.mark.parametrize(
    ("change", "pointer", "told"),
    [
        ({"options": {"include": ["e999"]}}, "/options", "'e999'"),
        ({"options": {"exclude": "e001"}}, "/options", "list of example ids"),
        ({"options": {"exclude": [1]}}, "/options", "ids as text"),
        ({"options": {"include": ["e001"], "exclude": ["e001"]}}, "/options", "'e001'"),
        ({"options": {"costs": {"e001": 2}}}, "/options", "lacks"),
        ({"options": {"costs": [1, 2]}}, "/options", "object of example ids"),
        ({"options": {"costs": COSTS | {"e002": 0}}}, "/options", "above 0"),
        ({"options": {"include": ["e002", "e001", "e002"]}}, "/options", "'e002' more than once"),
        ({"options": {"include": EXAMPLES[:21]}}, "/size", "21 examples, more than the size of 20"),
        ({"options": {"exclude": EXAMPLES[19:]}}, "/size", "leaves 19 examples"),
        ({"options": {"per_subtask": 11}}, "/options/per_subtask", "are 22 examples"),
        ({"options": {"budget": 5}}, "/size", "leave size or the budget out"),
        ({"size": None}, "/size", "Say how many"),
        ({"method": "random", "options": {"include": ["e001"]}}, "/options", "no option 'include'"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(
    api: httpx.Client, matrix: str, change: dict[str, Any], pointer: str, told: str
) -> None:
    body = {"matrix_id": matrix, "method": "optimal_design", "size": 20, **change}
    refused = problem(api.post("/select", json=body), 422, "invalid-request")
    assert refused["errors"][0]["pointer"] == pointer
    assert told in refused["detail"]


@pytest.mark.parametrize("option", [{"include": ["e001"]}, {"costs": COSTS}, {"budget": 9}])
def test_an_experiment_takes_no_conditions_on_single_examples(
    api: httpx.Client, matrix: str, option: dict[str, Any]
) -> None:
    body = {"matrix_id": matrix, "methods": [{"method": "optimal_design", "options": option}]}
    refused = problem(api.post("/mdad", json=body), 422, "invalid-request")
    assert "POST /select" in refused["detail"]
    assert refused["errors"][0]["pointer"] == f"/methods/0/options/{next(iter(option))}"
