"""What an experiment can be asked for, each once, on the bundled sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.running import result

QUICK = {"methods": ["random", "confidence_strata"], "sizes": [10, 40], "trials": 3}


@pytest.fixture(scope="module")
def digits(client: httpx.Client) -> str:
    sample = Path(__file__).parents[2] / "service" / "sample" / "digits.npz"
    answer = client.post("/matrices", params={"name": "features"}, content=sample.read_bytes())
    return str(answer.raise_for_status().json()["id"])


@pytest.fixture(scope="module")
def models(client: httpx.Client, digits: str) -> list[str]:
    page = client.get(f"/matrices/{digits}/models", params={"limit": 100}).raise_for_status().json()
    return [model["model"] for model in page["items"]]


def measured(client: httpx.Client, matrix: str, **request: Any) -> dict[str, Any]:
    body = {"matrix_id": matrix, **QUICK, **request}
    found: dict[str, Any] = json.loads(result(client, client.post("/mdad", json=body)))
    return found


def test_source_and_target_models_by_number_and_by_name(
    client: httpx.Client, digits: str, models: list[str]
) -> None:
    by_number = measured(client, digits, source_models=20, target_models=15)
    by_name = measured(client, digits, source_models=models[:20], target_models=models[20:35])
    for found in (by_number, by_name):
        assert (found["data"]["source_models"], found["data"]["target_models"]) == (20, 15)
    assert by_name["settings"]["source_models"] == models[:20]
    assert by_number["methods"] != by_name["methods"]


def test_nothing_held_out_has_no_new_items_and_all_models_as_targets_no_trials(
    client: httpx.Client, digits: str
) -> None:
    found = measured(client, digits, holdout=0, target_models="all", methods=["random"], sizes=[40, 1200])
    small, everything = found["methods"][0]["sizes"]
    assert small["new_items"] is everything["new_items"] is None
    assert 0.8 < small["same_items"]["agreement"] < everything["same_items"]["agreement"] == 1
    assert found["recommendation"]["truth"] == "same_items"


def test_each_subtask_on_its_own(client: httpx.Client, digits: str) -> None:
    found = measured(client, digits, by_subtask=True)
    assert [part["subtask"] for part in found["subtasks"]] == [f"digit-{at}" for at in range(10)]
    assert sum(part["data"]["examples"] for part in found["subtasks"]) == found["data"]["examples"] == 1200


def test_a_learning_curve_paired_differences_and_stability(client: httpx.Client, digits: str) -> None:
    methods = ["random", "confidence_strata", "anchor_points"]
    found = measured(client, digits, methods=methods, source_models=[5, 20], target_models=15)
    lines = {(line["label"], line["source_models"]): line for line in found["methods"]}
    assert "at least 10 source models" in lines["anchor_points", 5]["skipped"]
    assert {sources for label, sources in lines if label == "confidence_strata"} == {5, 20}
    for sources in (5, 20):
        stable = lines["confidence_strata", sources]["stability"]
        assert [row["size"] for row in stable] == [10, 40]
        assert all(0 <= row["jaccard"] < 1 for row in stable), stable
    for gap in found["differences"]:
        for other in gap["others"]:
            low, high = other["agreement"]["interval"]
            assert low <= other["agreement"]["difference"] <= min(high, 0)


def test_a_group_is_reported_apart(client: httpx.Client, digits: str, models: list[str]) -> None:
    group = measured(client, digits, group=models[:6])["group"]
    assert group["models"] == models[:6]
    assert group["exact_random"][0]["same_items"]["pairs"] <= 15
    assert all(set(pair["models"]) <= set(models[:6]) for pair in group["pairs"])


def test_methods_scored_by_confidence_come_with_random_scored_so(client: httpx.Client, digits: str) -> None:
    found = measured(client, digits, methods=["anchor_points", "random"])
    scored = {line["label"]: line["scored_by"] for line in found["methods"]}
    assert scored == {
        "anchor_points": "confidences",
        "random": "scores",
        "random (confidences)": "confidences",
    }


def test_a_recommendation_is_a_sentence(client: httpx.Client, digits: str) -> None:
    advice = measured(client, digits, methods=["random"], trials=20, target_mdad=0.06)["recommendation"]
    assert advice["status"] == "recommended"
    assert advice["sentence"].startswith(f"Use {advice['size']} of 1200 examples drawn at random: models ")
    assert "come out in the order that all examples give them in 80 % of cases" in advice["sentence"]
    assert advice["mdad"] <= 0.06
