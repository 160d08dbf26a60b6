"""A benchmark of agents with repeated attempts and errors, from the job folders to the report, over HTTP."""

from __future__ import annotations

import io
import json
import zipfile
from itertools import combinations
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

AGENTS, TASKS, ATTEMPTS, ERRED = 13, 80, 5, 0.08
Cells = NDArray[np.float64]


@pytest.fixture(scope="module")
def attempts() -> Cells:
    """Rewards by agent, task and attempt, shape (13, 80, 5); NaN where the attempt ended in an error.

    Every task keeps a scored attempt; the last agent has three times as many errors as the others.
    """
    rng = np.random.default_rng(20)
    skill, hard = np.linspace(-1.5, 1.5, AGENTS), rng.normal(0, 1.5, TASKS)
    chance = 1 / (1 + np.exp(-(skill[:, None] - hard)))
    found = (rng.random((AGENTS, TASKS, ATTEMPTS)) < chance[..., None]).astype(np.float64)
    share = np.full(AGENTS, ERRED * AGENTS / (AGENTS + 2))
    share[-1] *= 3
    erred = rng.random(found.shape) < share[:, None, None]
    erred[..., 0] = False
    found[erred] = np.nan
    return found


@pytest.fixture(scope="module")
def matrix(client: httpx.Client, attempts: Cells) -> dict[str, Any]:
    with zipfile.ZipFile(out := io.BytesIO(), "w") as archive:
        for (i, j, k), reward in np.ndenumerate(attempts):
            archive.writestr(f"job-{i}/t{j}__{k}/result.json", json.dumps(_trial(i, j, k, reward)))
    answer = client.post("/matrices", params={"name": "terminal"}, content=out.getvalue())
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _trial(i: int, j: int, k: int, reward: float) -> dict[str, object]:
    erred = bool(np.isnan(reward))
    return {
        "id": f"{i}-{j}-{k}",
        "task_name": f"t{j:02}",
        "trial_name": f"t{j:02}__{k}",
        "agent_info": {"name": f"agent-{i:02}", "model_info": {"name": "m"}},
        "verifier_result": None if erred else {"rewards": {"reward": reward}},
        "exception_info": {"exception_type": "DockerError"} if erred else None,
        "finished_at": "2026-01-01T00:00:00",
    }


def result(client: httpx.Client, path: str, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    job = client.post(path, json=body)
    assert job.status_code == 202, job.text
    address = job.headers["location"]
    for _ in range(20):
        if client.get(address, params={"wait": 20}).json()["status"] in ("succeeded", "failed"):
            break
    answer = client.get(f"{address}/result")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return address, found


def pass_hat_2(cell: NDArray[np.float64]) -> float:
    return float(np.mean([a * b for a, b in combinations(cell, 2)]))


def test_the_upload_says_how_many_attempts_a_cell_has(matrix: dict[str, Any], attempts: Cells) -> None:
    assert (matrix["format"], matrix["models"], matrix["examples"]) == ("harbor", AGENTS, TASKS)
    assert matrix["attempts"] == {"min": 5, "median": 5, "max": 5}
    assert sum(report["answers"] for report in matrix["reports"]) == int((~np.isnan(attempts)).sum())


@pytest.mark.parametrize("score", ["pass@1", "pass^2"])
def test_mdad_of_scores_from_attempts(
    client: httpx.Client, matrix: dict[str, Any], attempts: Cells, score: str
) -> None:
    body = {"matrix_id": matrix["id"], "methods": ["random"], "sizes": [20, 40], "trials": 10}

    refused = client.post("/mdad", json=body | {"score": score})
    address, found = result(
        client, "/mdad", body | {"score": score, "errors": "zero", "budget": {"runs": 60}}
    )

    errors = int(np.isnan(attempts).sum())
    assert refused.status_code == 422
    assert f"{errors} attempts ended without a score" in refused.json()["detail"]
    assert found["scoring"]["score"] == score
    assert found["scoring"]["errors_total"] == errors
    assert (found["scoring"]["least"], found["scoring"]["most"]) == (5, 5)
    assert found["settings"]["score"] == score
    assert (found["budget"]["best"]["examples"], found["budget"]["best"]["attempts"]) == (60, 1)
    report = client.get(f"{address}/report", headers={"Accept": "text/html"})
    assert report.status_code == 200
    assert found["scoring"]["statement"].split(";")[0] in report.text


def test_scores_differ_by_what_they_ask_of_the_attempts(
    client: httpx.Client, matrix: dict[str, Any], attempts: Cells
) -> None:
    found = {}
    for score in ("pass@1", "pass^2"):
        body = {"matrix_id": matrix["id"], "baseline": "agent-03+m", "candidate": "agent-05+m"}
        answer = client.post("/compare", json=body | {"score": score, "errors": "zero"})
        assert answer.status_code == 200, answer.text
        found[score] = answer.json()["comparisons"][0]

    zeroed = np.nan_to_num(attempts)
    assert found["pass@1"]["baseline_score"] == pytest.approx(zeroed[3].mean())
    expected = np.mean([pass_hat_2(cell) for cell in zeroed[5]])
    assert found["pass^2"]["candidate_score"] == pytest.approx(expected)


def test_many_more_errors_on_one_side_are_said_first(client: httpx.Client, matrix: dict[str, Any]) -> None:
    body = {"matrix_id": matrix["id"], "baseline": "agent-11+m", "candidate": "agent-12+m"}

    answer = client.post("/compare", json=body).json()

    assert answer["comparisons"][0]["reason"].startswith("'agent-12+m' ended without a score in")
    assert "agent-12+m" in answer["warnings"][0]
    assert [model["attempts"] for model in answer["attempts"]["models"]] == [400, 400]
    assert "Attempts that ended without a score: agent-11+m" in client.get(answer["page"]).text


def test_a_selection_for_a_score_takes_attempts_of_new_models(
    client: httpx.Client, matrix: dict[str, Any], attempts: Cells
) -> None:
    body = {"matrix_id": matrix["id"], "method": "random", "size": 30, "score": "pass^2", "errors": "zero"}
    _, selection = result(client, "/select", body)
    chosen = [int(example["id"][1:]) for example in selection["examples"]]
    zeroed = np.nan_to_num(attempts[4])
    rows = [f"new,t{j:02},{k},{zeroed[j, k]:g}" for j in chosen for k in range(ATTEMPTS)]

    path = f"/selections/{selection['selection_id']}/scores"
    table = "\n".join(["model,example,attempt,score", *rows])
    scores = client.post(path, content=table.encode(), params={"estimator": "plain"})
    few = client.post(
        path, content=b"model,example,score\nnew,t00,1\n" if 0 in chosen else table[:40].encode()
    )

    assert scores.status_code == 200, scores.text
    expected = np.mean([pass_hat_2(zeroed[j]) for j in chosen])
    assert scores.json()["scores"][0]["score"] == pytest.approx(expected, abs=1e-9)
    assert few.status_code == 422
    assert "pass^2 needs 2 attempts" in few.json()["detail"]
    other = {"selection_id": selection["selection_id"], "baseline": "agent-03+m", "candidate": "agent-05+m"}
    assert client.post("/compare", json=other | {"score": "pass@1", "errors": "zero"}).status_code == 422
    assert client.post("/compare", json=other).status_code == 200


def test_a_budget_of_runs_is_spent_on_examples_first(
    client: httpx.Client, matrix: dict[str, Any], attempts: Cells
) -> None:
    body = {"matrix_id": matrix["id"], "difference": 0.05, "errors": "zero"}

    few = client.post("/power", json=body | {"budget": {"runs": 60}}).json()["budget"]
    many = client.post("/power", json=body | {"budget": {"runs": 240}}).json()["budget"]
    given = {"runs": 240, "between_variance": 0.1, "within_variance": 0.3}
    stated = client.post(
        "/power", json={"difference": 0.05, "disagreement": 0.2, "benchmark": 80, "budget": given}
    )
    unknown = client.post("/power", json={"difference": 0.05, "disagreement": 0.2, "budget": {"runs": 60}})

    assert (few["best"]["examples"], few["best"]["attempts"], few["repeats_wasted"]) == (60, 1, True)
    assert (many["best"]["examples"], many["best"]["attempts"]) == (TASKS, 3)
    within = np.nan_to_num(attempts).var(axis=2, ddof=1).mean(axis=1)
    pairs = [a + b for a, b in combinations(within, 2)]
    assert many["within_variance"] == pytest.approx(np.median(pairs))
    error = stated.json()["budget"]["best"]["standard_error"]
    assert error == pytest.approx((0.3 / 240) ** 0.5)
    assert unknown.status_code == 422


def test_power_of_a_score_from_attempts(client: httpx.Client, matrix: dict[str, Any]) -> None:
    body = {"matrix_id": matrix["id"], "difference": 0.05, "score": "pass^2", "errors": "zero"}

    answer = client.post("/power", json=body)

    assert answer.status_code == 200, answer.text
    assert answer.json()["scoring"]["score"] == "pass^2"
