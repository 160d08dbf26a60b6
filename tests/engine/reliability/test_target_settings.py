"""Kinds of new models: who is drawn, what is measured, and what is said where models are too few."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.planning.plan import PlanError, mdad_plan
from service.engine.reliability.mdad_job import assemble, run_all
from tests.engine.made import answers, matrix, skills


def judged(data: Matrix, outline: Outline | None = None, **settings: Any) -> dict[str, dict[str, Any]]:
    return {entry["setting"]: entry for entry in result(data, outline, **settings)["target_settings"]}


def result(data: Matrix, outline: Outline | None = None, **settings: Any) -> dict[str, Any]:
    request = {"methods": ["random", "optimal_design"], "sizes": [20], "trials": 3} | settings
    plan = mdad_plan(request, outline or Outline.of(data))
    return assemble(data, plan, run_all(data, plan, lambda _: None), lambda _: None)


def size(entry: dict[str, Any], label: str) -> dict[str, Any]:
    (method,) = [method for method in entry["methods"] if method["label"] == label]
    return method["sizes"][0]


def test_each_setting_has_error_agreement_and_coverage_of_what_is_served() -> None:
    found = judged(matrix(answers(80, 200)), target_settings=["like", "better", "worse"])

    assert list(found) == ["like", "better", "worse"]
    for entry in found.values():
        design = size(entry, "optimal_design")
        assert 0.02 < design["error"] < 0.12
        assert design["coverage"] > 0.8
        assert size(entry, "random")["coverage"] is None
        assert 0.6 < design["agreement"] <= 1
    assert size(found["like"], "optimal_design")["error"] < size(found["like"], "random")["error"]
    assert (found["better"]["target_models"], found["better"]["source_models"]) == (16, 40)


def test_pairs_of_the_best_models_are_harder_to_order_than_those_of_all() -> None:
    found = judged(matrix(answers(80, 200)), target_settings=["like", "better"])

    assert size(found["better"], "random")["agreement"] < size(found["like"], "random")["agreement"]


def test_families_and_dates_come_from_what_is_known_of_models() -> None:
    data = matrix(answers(40, 100))
    outline = replace(
        Outline.of(data),
        families=tuple("ab"[i % 2] if i < 30 else None for i in range(40)),
        released=tuple(730_000 + i for i in range(40)),
    )

    found = judged(data, outline, target_settings=["family", "later"], source_models=20)

    assert (found["family"]["target_models"], found["family"]["source_models"]) == (15, 15)
    assert (found["later"]["target_models"], found["later"]["source_models"]) == (8, 20)


def test_without_families_and_dates_it_says_what_to_do() -> None:
    found = judged(matrix(answers(40, 100)), target_settings=["family", "later"])

    assert all("PATCH" in entry["reason"] for entry in found.values())
    assert all(entry["methods"] == [] for entry in found.values())


def test_near_copies_of_targets_are_no_sources() -> None:
    rng = np.random.default_rng(1)
    models = (rng.random((8, 200)) < skills(8, 200)).astype(np.uint8)
    copies = np.repeat(models, 6, axis=0)
    copies = np.where(rng.random(copies.shape) < 0.03, 1 - copies, copies).astype(np.uint8)

    entry = judged(matrix(copies), target_settings=["like"], target_models=6)["like"]

    assert entry["source_models"] <= 24
    assert size(entry, "optimal_design")["coverage"] > 0.8


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(PlanError, match="/target_settings/0"):
        judged(matrix(answers(40, 100)), target_settings=["best"])


def test_the_size_is_that_of_the_worse_setting_and_it_says_which() -> None:
    data = matrix(answers(80, 400, seed=5))
    ask = {"methods": ["random"], "sizes": "auto", "target_mdad": 0.05}
    alone = {
        setting: result(data, target_settings=[setting], **ask)["recommendation"]
        for setting in ("like", "better")
    }
    both = result(data, target_settings=["like", "better"], **ask)["recommendation"]
    sizes = {one["setting"]: one["size"] for one in both["by_setting"]}
    assert both["size"] == max(sizes.values())
    assert sizes["like"] == alone["like"]["size"]
    assert sizes[both["decided_by"]] == both["size"]
    assert both["mdad"] == max(one["mdad"] for one in both["by_setting"])
    assert both["mdad"] <= 0.05


def test_a_design_that_fails_better_models_gives_way_or_grows() -> None:
    data = matrix(answers(60, 300, seed=2))
    ask = {"methods": ["optimal_design"], "sizes": "auto", "target_mdad": 0.07, "trials": 20}
    like = result(data, target_settings=["like"], **ask)["recommendation"]
    both = result(data, target_settings=["like", "better"], **ask)["recommendation"]
    assert both["size"] >= like["size"]
    assert {one["setting"] for one in both["by_setting"]} == {"like", "better"}


def test_named_targets_say_themselves_who_is_new() -> None:
    data = matrix(answers(50, 200))
    found = judged(data, target_settings=["like", "better"], target_models=[f"m{i:03}" for i in range(12)])
    assert "named" in found["better"]["reason"]
