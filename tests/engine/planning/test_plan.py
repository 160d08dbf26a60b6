"""Plans: defaults filled in, every refusal at its field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from service.engine.data.outline import Outline
from service.engine.planning.fields import heldout_count
from service.engine.planning.plan import PlanError, mdad_plan, select_plan
from service.engine.selection.registry import LEARNS_NOTHING, METHODS
from tests.engine import made

MODELS = tuple(f"m{i:02}" for i in range(20))
PLAIN = Outline(MODELS, 100, (100,), (), True, 0, False, False)


def outline(**changes: Any) -> Outline:
    fields = {name: getattr(PLAIN, name) for name in Outline.__slots__}
    return Outline(**{**fields, **changes})


def test_defaults() -> None:
    plan = mdad_plan({"methods": ["random"]}, PLAIN)
    assert plan.settings == {
        "methods": [
            {"label": "random", "method": "random", "estimator": "mean", "options": {}, "scored_by": "scores"}
        ],
        "sizes": "auto",
        "trials": 50,
        "probability": 0.8,
        "target_mdad": None,
        "source_models": 10,
        "target_models": 10,
        "holdout": 0.0,
        "purpose": "reproduce_benchmark",
        "drop": None,
        "truth": "same_items",
        "seed": 0,
        "missing": "error",
        "paper_compat": False,
        "group": None,
        "by_subtask": False,
        "max_size": None,
        "target_settings": ["like"],
        "expect": "like",
        "expect_reason": "Neither release dates nor the order of arrival tell which models are newer.",
    }


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"source_models": [3, 5, 8], "target_models": 12},
        {"source_models": ["m03", "m01"], "holdout": 0.25},
        {"target_models": "all", "holdout": 0},
        {"expect": "better", "methods": ["optimal_design"]},
        {"target_settings": ["later", "like"]},
        {"methods": ["optimal_design", {"method": "optimal_design", "options": {"expect": "better"}}]},
        {"target_models": ["m05", "m02", "m07"], "truth": "same_items"},
        {"methods": ["random", {"method": "stratified", "options": {"allocation": "equal"}}]},
        {"methods": [{"method": "random", "estimator": "blp", "label": "mine"}], "group": ["m00", "m01"]},
    ],
)
def test_planning_the_resolved_settings_changes_nothing(settings: dict[str, Any]) -> None:
    plan = mdad_plan(settings, PLAIN)
    assert mdad_plan(plan.settings, PLAIN) == plan


def test_all_methods_that_fit_are_the_default() -> None:
    assert [s.method for s in mdad_plan({}, PLAIN).specs] == [m for m in METHODS if m != "stratified"]
    split = outline(subtasks=("a", "b"), subtask_sizes=(50, 50))
    assert [s.method for s in mdad_plan({}, split).specs] == list(METHODS)
    everyone = mdad_plan({"target_models": "all"}, split)
    assert {s.method for s in everyone.specs} == LEARNS_NOTHING


def test_labels_say_what_differs_from_the_default() -> None:
    plan = mdad_plan(
        {
            "methods": [
                "random",
                {"method": "random", "estimator": "blp"},
                {"method": "stratified", "options": {"allocation": "equal"}},
                {"method": "random", "scored_by": "confidences"},
            ]
        },
        outline(confidences=True),
    )
    assert [s.label for s in plan.specs] == [
        "random",
        "random (blp)",
        "stratified (allocation=equal)",
        "random (confidences)",
    ]


def test_methods_scored_by_confidence_bring_random_scored_so() -> None:
    plan = mdad_plan({"methods": ["anchor_points"]}, outline(confidences=True))
    assert [(s.label, s.scored_by) for s in plan.specs] == [
        ("anchor_points", "confidences"),
        ("random (confidences)", "confidences"),
    ]
    plain = mdad_plan({"methods": ["anchor_points"]}, PLAIN)
    assert [(s.label, s.scored_by) for s in plain.specs] == [("anchor_points", "scores")]


SUBTASKED = outline(subtasks=("a", "b"), subtask_sizes=(50, 50))


def test_draws_with_a_formula_need_no_trials_for_a_purpose() -> None:
    drawn = {"methods": ["random", "stratified"]}
    assert mdad_plan(drawn, SUBTASKED).simulated == ()
    assert mdad_plan(drawn | {"purpose": "new_questions"}, SUBTASKED).simulated == ()
    graded = outline(subtasks=("a", "b"), subtask_sizes=(50, 50), binary=False)
    assert len(mdad_plan(drawn, graded).simulated) == 2


def test_the_papers_protocol_simulates_draws_unless_all_examples_and_models_are_the_truth() -> None:
    drawn = {"methods": ["random", "stratified"], "target_models": "all", "holdout": 0}
    assert mdad_plan(drawn, SUBTASKED).simulated == ()
    assert len(mdad_plan(drawn | {"holdout": 0.5}, SUBTASKED).simulated) == 2
    assert len(mdad_plan(drawn | {"target_models": 10}, SUBTASKED).simulated) == 2


def test_a_method_that_is_another_by_construction_runs_once() -> None:
    plan = mdad_plan({"methods": ["random", "stratified"]}, PLAIN)
    assert plan.same_as == {"stratified": "random"}
    assert [spec.label for spec in plan.distinct] == ["random"]
    assert mdad_plan({"methods": ["random", "stratified"]}, SUBTASKED).same_as == {}
    predicted = [{"method": "stratified", "estimator": "blp"}, "random"]
    assert mdad_plan({"methods": predicted}, PLAIN).same_as == {}


@pytest.mark.parametrize(
    ("settings", "purpose", "truth", "holdout"),
    [
        ({}, "reproduce_benchmark", "same_items", 0.0),
        ({"purpose": "new_questions"}, "new_questions", "new_items", 0.5),
        ({"holdout": 0.25}, None, "new_items", 0.25),
        ({"truth": "same_items"}, None, "same_items", 0.5),
        ({"paper_compat": True}, None, "new_items", 0.5),
        ({"purpose": "new_questions", "paper_compat": True}, "new_questions", "new_items", 0.5),
    ],
)
def test_a_purpose_or_the_papers_protocol(
    settings: dict[str, Any], purpose: str | None, truth: str, holdout: float
) -> None:
    plan = mdad_plan({"methods": ["random"], **settings}, PLAIN)
    assert (plan.purpose, plan.truth, plan.settings["holdout"]) == (purpose, truth, holdout)
    assert mdad_plan(plan.settings, PLAIN) == plan


def test_a_third_of_many_models_are_targets() -> None:
    many = outline(models=tuple(f"m{i:03}" for i in range(420)))
    assert mdad_plan({}, many).models.targets == 140
    assert mdad_plan({}, many).trials == 30
    assert mdad_plan({"holdout": 0.5}, many).models.targets == 50
    assert mdad_plan({}, outline(models=MODELS[:3])).models.targets == 2


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"sizes": [10, 20, 60], "holdout": 0.5}, "/sizes/2"),
        ({"sizes": [10, 20, 101]}, "/sizes/2"),
        ({"sizes": "many"}, "/sizes"),
        ({"purpose": "fun"}, "/purpose"),
        ({"purpose": "reproduce_benchmark", "holdout": 0.5}, "/holdout"),
        ({"purpose": "new_questions", "truth": "same_items"}, "/truth"),
        ({"sizes": [0]}, "/sizes/0"),
        ({"sizes": []}, "/sizes"),
        ({"sizes": [10.5]}, "/sizes/0"),
        ({"sizes": [True]}, "/sizes/0"),
        ({"methods": []}, "/methods"),
        ({"methods": ["nonsense"]}, "/methods/0"),
        ({"methods": [{"method": "random", "colour": 1}]}, "/methods/0/colour"),
        ({"methods": ["random", "random"]}, "/methods/1"),
        ({"methods": [{"method": "stratified", "options": {"allocation": "odd"}}]}, "/methods/0/options"),
        ({"methods": [{"method": "random", "options": {"x": 1}}]}, "/methods/0/options"),
        ({"methods": [{"method": "random", "estimator": "guess"}]}, "/methods/0/estimator"),
        ({"methods": [{"method": "random", "scored_by": "confidences"}]}, "/methods/0/scored_by"),
        ({"methods": ["anchor_points"], "target_models": "all"}, "/methods/0"),
        ({"methods": ["random", {"method": "stratified", "label": "random"}]}, "/methods/1/label"),
        ({"sizes": [10, 20], "max_size": 9}, "/max_size"),
        ({"trials": 0}, "/trials"),
        ({"trials": -3}, "/trials"),
        ({"trials": 10**9}, "/trials"),
        ({"trials": "50"}, "/trials"),
        ({"seed": -1}, "/seed"),
        ({"probability": 1.2}, "/probability"),
        ({"probability": float("nan")}, "/probability"),
        ({"holdout": 1}, "/holdout"),
        ({"holdout": 0, "truth": "new_items"}, "/truth"),
        ({"truth": "old_items"}, "/truth"),
        ({"target_mdad": -0.1}, "/target_mdad"),
        ({"source_models": 20}, "/source_models/0"),
        ({"source_models": 15, "target_models": 6}, "/target_models"),
        ({"source_models": ["m01", "zzz"]}, "/source_models/1"),
        ({"source_models": ["m01", "m01"]}, "/source_models/1"),
        ({"source_models": ["m01"], "target_models": ["m01", "m02"]}, "/target_models"),
        ({"target_models": 1}, "/target_models"),
        ({"target_models": 21}, "/target_models"),
        ({"target_models": ["m01", "zzz"]}, "/target_models/1"),
        ({"group": ["m01", "zzz"]}, "/group/1"),
        ({"group": ["m01"]}, "/group"),
        ({"group": ["m01", "m02"], "source_models": ["m01"]}, "/group"),
        ({"by_subtask": True}, "/by_subtask"),
        ({"missing": "guess"}, "/missing"),
        ({"paper_compat": 1}, "/paper_compat"),
        ({"surprise": 1}, "/surprise"),
    ],
)
def test_refused_at_its_field(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(PlanError) as refusal:
        mdad_plan(settings, PLAIN)
    assert refusal.value.field == field


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(PlanError, match="random, stratified"):
        mdad_plan({"methods": ["nonsense"]}, PLAIN)
    with pytest.raises(PlanError, match="allocation"):
        mdad_plan({"methods": [{"method": "stratified", "options": {"x": 1}}]}, PLAIN)


def test_one_model_or_one_example_is_no_comparison() -> None:
    for tiny in (outline(models=("a",)), outline(n_examples=1, subtask_sizes=(1,))):
        with pytest.raises(PlanError, match="at least two"):
            mdad_plan({}, tiny)


def test_missing_cells_need_a_policy_and_the_refusal_counts() -> None:
    scores = made.answers(20, 100).astype(float)
    scores[3, :7] = np.nan
    gaps = Outline.of(made.matrix(scores))
    with pytest.raises(
        PlanError, match=r"7 cells .*drops 7 of 100 examples.*drops 1 of 20 models"
    ) as refusal:
        mdad_plan({}, gaps)
    assert refusal.value.field == "/missing"
    assert mdad_plan({"missing": "drop_models"}, gaps).settings["source_models"] == 10
    assert len(mdad_plan({"missing": "drop_models"}, gaps).outline.models) == 19
    assert mdad_plan({"missing": "drop_examples"}, gaps).outline.n_examples == 93
    assert mdad_plan({"missing": "zero"}, gaps).outline.n_examples == 100


def test_the_outline_after_a_policy_is_that_of_the_filled_matrix() -> None:
    scores = made.answers(12, 40).astype(float)
    scores[2, 5] = scores[2, 6] = scores[9, 5] = np.nan
    data = made.matrix(scores)
    for policy in ("drop_models", "drop_examples", "zero"):
        filled, planned = Outline.of(data.fill(policy)), Outline.of(data).after(policy)
        assert (filled.models, filled.n_examples) == (planned.models, planned.n_examples)
        assert planned.missing_cells == 0


def test_select_defaults_and_refusals() -> None:
    plan = select_plan({"method": "stratified", "size": 7}, PLAIN)
    assert plan.settings == {
        "method": "stratified",
        "estimator": "weighted",
        "options": {"allocation": "proportional"},
        "scored_by": "scores",
        "size": 7,
        "seed": 0,
        "source_models": None,
        "missing": "error",
        "expect": "like",
        "expect_reason": "Neither release dates nor the order of arrival tell which models are newer.",
        "guarantee": False,
    }
    assert select_plan(plan.settings, PLAIN) == plan
    for settings, field in [
        ({"method": "random"}, "/size"),
        ({"method": "random", "size": 101}, "/size"),
        ({"method": "random", "size": 0}, "/size"),
        ({"size": 5}, "/method"),
        ({"method": "nonsense", "size": 5}, "/method"),
        ({"method": "random", "size": 5, "source_models": ["zzz"]}, "/source_models/0"),
        ({"method": "random", "size": 5, "trials": 5}, "/trials"),
        ({"method": "random", "size": 5, "expect": "worse"}, "/expect"),
        ({"method": "diversity", "size": 5, "guarantee": True}, "/guarantee"),
        ({"method": "optimal_design", "size": 1, "guarantee": True}, "/size"),
        ({"method": "optimal_design", "options": {"budget": 0.5}}, "/options/budget"),
    ]:
        with pytest.raises(PlanError) as refusal:
            select_plan(settings, PLAIN)
        assert refusal.value.field == field


@pytest.mark.parametrize(
    ("options", "least"),
    [({}, 2), ({"include": ["a", "b"]}, 7), ({"exclude": ["a"]}, 4), ({"exclude": ["a", "c"]}, 5)],
)
def test_a_budget_pays_for_what_must_be_chosen(options: dict[str, Any], least: int) -> None:
    three = outline(n_examples=3, subtask_sizes=(3,), examples=("a", "b", "c"))
    costs = {"a": 2, "b": 5, "c": 4}

    def plan(budget: float) -> Any:
        wanted = {**options, "costs": costs, "budget": budget}
        return select_plan({"method": "optimal_design", "options": wanted}, three)

    assert plan(least).spec.options["budget"] == least
    with pytest.raises(PlanError, match=f"{least} or more") as refusal:
        plan(least - 0.1)
    assert refusal.value.field == "/options/budget"


@pytest.mark.parametrize(
    ("examples", "holdout", "held"), [(448, 0.5, 224), (449, 0.5, 224), (10, 0, 0), (2, 0.9, 1), (3, 0.01, 1)]
)
def test_held_out_examples(examples: int, holdout: float, held: int) -> None:
    assert heldout_count(examples, holdout) == held
