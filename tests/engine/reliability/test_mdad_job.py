"""The experiment: laws it obeys whatever the data, and its agreement with the exact numbers."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.engine.data.contracts import Source, Subset
from service.engine.data.errors import Stopped, Unsuitable
from service.engine.data.matrix import Matrix
from service.engine.experiment.estimates import Estimates
from service.engine.experiment.simulated import kendall_tau
from service.engine.experiment.splits import Splitter, generator
from service.engine.experiment.trials import run_trials
from service.engine.reliability import mdad_job
from service.engine.selection.random_sampling import FittedRandom, RandomSampling
from service.engine.selection.registry import METHODS
from tests.engine import made

SUBTASKS = [f"s{j % 4}" for j in range(120)]


@pytest.fixture(scope="module")
def data() -> Matrix:
    return made.matrix(made.answers(30, 120), SUBTASKS)


def judged(result: dict[str, Any], label: str = "random", truth: str = "same_items") -> dict[int, Any]:
    return {entry["size"]: entry[truth] for entry in made.line(result, label)["sizes"]}


def test_the_cut_into_parts_changes_no_byte(data: Matrix) -> None:
    for asked in ({"sizes": [5, 20], "holdout": 0.5}, {"sizes": "auto"}, {"purpose": "new_questions"}):
        plan = made.plan_of(data, {"methods": ["random", "optimal_design"], "trials": 10, **asked})
        results = {
            json.dumps(
                mdad_job.assemble(data, plan, made.pieces_of(data, plan, cut), made.silent), allow_nan=False
            )
            for cut in (10, 3, 1)
        }
        assert len(results) == 1


def test_parts_cover_every_trial_once(data: Matrix) -> None:
    for methods in (["random"], ["random", "tinybenchmarks"]):
        plan = made.plan_of(data, {"methods": methods, "trials": 37, "holdout": 0.5})
        trials = [t for part in mdad_job.parts(plan) for t in range(*part["trials"])]
        assert trials == list(range(37))


def test_the_order_of_the_upload_changes_no_number(data: Matrix) -> None:
    rows, columns = np.random.default_rng(3).permutation(30), np.random.default_rng(4).permutation(120)
    shuffled = Matrix.build(
        [data.models[i] for i in rows],
        [data.examples[j] for j in columns],
        data.scores[np.ix_(rows, columns)],
        subtasks=[data.subtasks[data.strata[j]] for j in columns],
    )
    request = {"methods": ["random", "stratified"], "trials": 4, "sizes": [5, 20]}
    assert made.run(data, **request) == made.run(shuffled, **request)


def test_another_method_beside_it_changes_no_number_of_a_method(data: Matrix) -> None:
    request = {"trials": 4, "holdout": 0.5, "sizes": [10, 25, 50]}
    alone = made.run(data, methods=["random"], **request)
    beside = made.run(data, methods=["stratified", "random"], **request)
    assert made.line(alone, "random") == made.line(beside, "random")


def test_the_seed_decides(data: Matrix) -> None:
    request = {"methods": ["random"], "trials": 4, "sizes": [10], "holdout": 0.5}
    assert made.run(data, **request) == made.run(data, **request)
    assert made.run(data, **request) != made.run(data, **request, seed=1)


def test_all_examples_agree_with_themselves(data: Matrix) -> None:
    result = made.run(data, methods=["random", "stratified"], trials=5, sizes=[60], holdout=0.5)
    for label in ("random", "stratified"):
        found = judged(result, label)[60]
        assert found["agreement"] == found["agreement_strict"] == 1
        assert found["tie_rate"] == 0
        assert found["estimation_error"] == {"mean": 0, "p90": 0}
        assert found["kendall_tau"]["mean"] == 1


def test_examples_all_models_get_right_change_no_verdict() -> None:
    scores = made.answers(12, 60)
    padded = np.concatenate((scores, np.ones((12, 60), dtype=np.uint8)), axis=1)
    for data in (scores, padded):
        result = made.run(made.matrix(data), methods=["random"], target_models="all", holdout=0, sizes=[60])
        full = result["exact_random"][0]["same_items"]
        assert full["equal_pairs"] == sum(data[i].sum() == data[j].sum() for i in range(12) for j in range(i))
    gaps = {
        len(data[0]): [pair["models"] for pair in made.run(made.matrix(data), methods=["random"])[
            "recommendation"]["own_pairs"]["examples"]]
        for data in (scores, padded)
    }  # fmt: skip
    assert set(map(tuple, gaps[120])) >= set(map(tuple, gaps[60]))


def test_doubling_every_example_moves_no_difference() -> None:
    scores = made.answers(12, 60)
    once, twice = (
        made.run(made.matrix(data), methods=["random"], target_models="all", holdout=0, sizes=[30])
        for data in (scores, np.repeat(scores, 2, axis=1))
    )
    points = [
        [(point["difference"], point["pairs"]) for point in result["exact_random"][0]["same_items"]["curve"]]
        for result in (once, twice)
    ]
    assert points[0] == points[1]


def test_names_of_models_carry_no_number(data: Matrix) -> None:
    request = {"methods": ["random"], "target_models": "all", "holdout": 0, "sizes": [30]}
    flipped = made.matrix(data.scores[::-1], SUBTASKS)
    assert made.run(flipped, **request)["exact_random"][0]["same_items"]["curve"] == [
        {**point, "agreement": pytest.approx(point["agreement"], abs=1e-9)}
        | {"agreement_strict": pytest.approx(point["agreement_strict"], abs=1e-9)}
        for point in made.run(data, **request)["exact_random"][0]["same_items"]["curve"]
    ]


def test_simulated_random_agrees_with_exact_within_monte_carlo_error() -> None:
    data = made.matrix(made.answers(24, 80, seed=5))
    targets = list(data.models[:23])
    everyone = data.take(models=np.arange(23))
    sizes = [1, 5, 20, 50, 80]
    request = {"holdout": 0, "sizes": sizes, "methods": ["random"]}
    simulated = made.run(data, **request, target_models=targets, trials=900, source_models=["m023"])
    exact = made.run(everyone, **request, target_models="all")
    for size in sizes:
        drawn, known = judged(simulated)[size], judged(exact)[size]
        assert known["pairs"] * 900 == drawn["pairs"]
        error = _trial_error(data, targets, size, 900)
        assert drawn["agreement"] == pytest.approx(known["agreement"], abs=4 * error + 1e-12)
        assert drawn["agreement_strict"] == pytest.approx(known["agreement_strict"], abs=4 * error + 1e-12)
        assert drawn["estimation_error"]["mean"] == pytest.approx(
            known["estimation_error"]["mean"], abs=0.003
        )


def _trial_error(data: Matrix, targets: list[str], size: int, trials: int) -> float:
    """Standard error of mean agreement over trials, from the trials themselves."""
    plan = made.plan_of(
        data,
        {"holdout": 0, "sizes": [size], "methods": ["random"], "target_models": targets, "trials": trials},
    )
    found = run_trials(plan, data, 0, 200, made.silent)
    first, second = np.triu_indices(len(targets), 1)
    truth = np.sign(found.same[0][:, first] - found.same[0][:, second])
    order = np.sign(np.round(found.scores[0, 0, 0][:, first] - found.scores[0, 0, 0][:, second], 9))
    kept = truth[0] != 0
    by_trial = ((order * truth > 0) + (order == 0) / 2)[:, kept].mean(axis=1)
    return float(by_trial.std() / np.sqrt(trials))


def test_simulated_stratified_agrees_with_exact() -> None:
    scores = made.answers(16, 90, seed=8)
    subtasks = ["a"] * 50 + ["b"] * 30 + ["c"] * 10
    for options in ({"allocation": "proportional"}, {"allocation": "equal"}):
        data = made.matrix(scores, subtasks)
        request = {"methods": [{"method": "stratified", "options": options, "label": "it"}]}
        request |= {"holdout": 0, "sizes": [2, 9, 30]}
        everyone = data.take(models=np.arange(15))
        exact = made.run(everyone, **request, target_models="all")
        simulated = made.run(data, **request, target_models=list(everyone.models), trials=1000)
        for size in (2, 9, 30):
            drawn, known = judged(simulated, "it")[size], judged(exact, "it")[size]
            assert drawn["agreement"] == pytest.approx(known["agreement"], abs=0.012)
            assert drawn["tie_rate"] == pytest.approx(known["tie_rate"], abs=0.012)
            errors = drawn["estimation_error"]["mean"], known["estimation_error"]["mean"]
            assert errors[0] == pytest.approx(errors[1], rel=0.1)


def test_where_the_formula_costs_too_much_seeded_draws_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    data = made.matrix(made.answers(16, 90, seed=8), ["a"] * 50 + ["b"] * 30 + ["c"] * 10)
    request = {"methods": ["stratified"], "holdout": 0, "target_models": "all", "sizes": [9, 30]}
    exact = made.run(data, **request)["methods"][0]["sizes"]
    monkeypatch.setattr("service.engine.experiment.exact.MOST_CELLS", 1)
    monkeypatch.setattr("service.engine.experiment.exact.DRAWS", (2000, 2000))
    drawn = made.run(data, **request)["methods"][0]["sizes"]
    assert drawn == made.run(data, **request, seed=1)["methods"][0]["sizes"]
    for known, found in zip(exact, drawn, strict=True):
        assert "approximation" not in known
        assert found["approximation"] == "2000 simulated draws"
        for number in ("agreement", "tie_rate"):
            assert found["same_items"][number] == pytest.approx(known["same_items"][number], abs=0.008)


def test_exact_needs_no_trials_and_no_seed(data: Matrix) -> None:
    request = {"methods": ["random", "stratified"], "target_models": "all", "holdout": 0, "sizes": [10, 40]}
    one, other = (made.run(data, **request, **more) for more in ({"seed": 1}, {"seed": 2, "trials": 3}))
    assert one["methods"] == other["methods"]
    parts = [{"stage": 1, "heldout": 0, "trials": [0, 0]}]
    assert mdad_job.parts(made.plan_of(data, request)) == parts
    assert mdad_job.parts(made.plan_of(data, {"methods": ["random", "stratified"]})) == parts
    first = {entry["size"]: entry["same_items"]["agreement"] for entry in one["exact_random"]}
    assert first == {size: entry["agreement"] for size, entry in judged(one).items()}


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 14), st.integers(2, 30), st.integers(0, 10**6), st.sampled_from([0.0, 0.5]), st.booleans()
)
def test_every_result_is_finite_json(
    models: int, examples: int, seed: int, holdout: float, graded: bool
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 2, size=(models, examples)) * (rng.random((models, examples)) if graded else 1)
    data = made.matrix(scores * rng.integers(0, 2, size=examples), [f"s{j % 3}" for j in range(examples)])
    sizes = [1, examples - examples // 2]
    request = {"methods": ["random", "stratified"], "trials": 2, "sizes": sizes, "holdout": holdout}
    result = made.run(data, **request, by_subtask=True)
    again = json.loads(json.dumps(result, allow_nan=False))
    assert again == result
    for entry in again["exact_random"]:
        found = entry["same_items"]
        assert found["mdad"] is not None or found["reason"] in ("not_reached", "no comparable pairs")
        assert found["interval"] is not None or found["interval_reason"]


def test_identical_models_have_no_pairs_and_no_tau() -> None:
    data = made.matrix(np.tile(made.answers(1, 40), (12, 1)))
    result = made.run(data, methods=["random"], trials=3, holdout=0.5, sizes=[10])
    found = judged(result, truth="new_items")[10]
    assert found["agreement"] is None
    assert found["reason"] == "no comparable pairs"
    assert found["equal_pairs"] == 3 * 15
    assert found["kendall_tau"]["mean"] is None
    assert found["kendall_tau"]["reason"] == "constant in every trial"


def test_fewer_than_ten_targets_have_no_interval(data: Matrix) -> None:
    request = {"methods": ["random"], "trials": 3, "holdout": 0.5, "sizes": [10]}
    few = judged(made.run(data.take(models=np.arange(9)), **request, target_models="all"))[10]
    assert few["interval"] is None
    assert few["agreement_interval"] is None
    assert few["interval_reason"] == "fewer than 10 target models"
    enough = judged(made.run(data, **request, target_models=10))[10]
    assert enough["agreement_interval"][0] <= enough["agreement"] <= enough["agreement_interval"][1]


def test_strict_ties_lower_agreement_by_half_the_tie_rate(data: Matrix) -> None:
    request = {"methods": ["random"], "trials": 6, "sizes": [5], "holdout": 0.5}
    default, paper = (judged(made.run(data, **request, paper_compat=flag))[5] for flag in (False, True))
    assert default["agreement_strict"] == paper["agreement_strict"] == paper["agreement"]
    assert default["agreement"] == pytest.approx(paper["agreement"] + paper["tie_rate"] / 2, abs=1e-9)
    assert default["mdad_paper"] == paper["mdad_paper"] == paper["mdad"]
    assert default["mdad_isotonic"] == paper["mdad_isotonic"]
    assert paper["interval_reason"] == "the paper's rule has no standard error"
    assert [point["difference"] for point in paper["curve"]] == [
        point["difference"] for point in default["curve"]
    ]


def test_a_learning_curve_has_a_line_for_each_number_of_sources(data: Matrix) -> None:
    result = made.run(
        data,
        methods=["random", {"method": "confidence_strata"}],
        source_models=[5, 15],
        target_models=10,
        trials=2,
        sizes=[10],
    )
    lines = [(m["label"], m["source_models"]) for m in result["methods"]]
    assert lines == [("random", None), ("confidence_strata", 5), ("confidence_strata", 15)]
    alone = made.run(
        data, methods=["confidence_strata"], source_models=5, target_models=10, trials=2, sizes=[10]
    )
    assert made.line(alone, "confidence_strata", 5) == made.line(result, "confidence_strata", 5)


def test_a_method_the_data_cannot_carry_is_skipped_with_a_reason(data: Matrix) -> None:
    result = made.run(
        data, methods=["random", "anchor_points"], source_models=3, target_models=12, trials=2, sizes=[10]
    )
    skipped = made.line(result, "anchor_points", 3)
    assert skipped["skipped"]
    assert skipped["sizes"] == []
    assert len(made.line(result, "random")["sizes"]) == 1
    assert any("anchor_points was skipped" in caveat for caveat in result["recommendation"]["caveats"])


class Picky(RandomSampling):
    """Random sampling that refuses more than twenty examples, and its second trial altogether."""

    name: ClassVar[str] = "picky"

    def __init__(self, only: str = "large") -> None:
        self.only = only

    def fit(self, source: Source, rng: np.random.Generator) -> FittedRandom:
        if self.only == "sometimes" and rng.integers(2):
            raise Unsuitable("no luck today")
        return Refusing(super().fit(source, rng).order)


class Refusing(FittedRandom):
    def pick(self, size: int) -> Subset:
        if size > 20:
            raise Unsuitable(f"{size} is more than 20")
        return super().pick(size)


def test_sizes_a_method_cannot_do_have_a_reason_each(data: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "picky", Picky)
    result = made.run(data, methods=["random", "picky"], trials=3, sizes=[5, 20, 30, 50])
    found = made.line(result, "picky", 15)
    assert "skipped" not in found
    assert [entry.get("reason") for entry in found["sizes"]] == [
        None,
        None,
        "30 is more than 20",
        "50 is more than 20",
    ]
    assert found["sizes"][1]["same_items"]["agreement"] > 0.5


def test_a_method_that_fails_in_one_trial_is_skipped_and_the_rest_stand(
    data: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "picky", Picky)
    unlucky = {"method": "picky", "options": {"only": "sometimes"}, "label": "picky"}
    result = made.run(data, methods=["random", unlucky], trials=8, sizes=[5, 20])
    assert made.line(result, "picky", 15)["skipped"] == "no luck today"
    alone = made.run(data, methods=["random"], trials=8, sizes=[5, 20])
    assert made.line(result, "random") == made.line(alone, "random")


def test_confidences_are_answers_and_correctness_the_truth() -> None:
    scores = made.answers(30, 80)
    chance = made.skills(30, 80)
    data = made.matrix(scores, confidences=chance)
    result = made.run(
        data,
        methods=["random", {"method": "random", "scored_by": "confidences"}],
        trials=20,
        sizes=[10],
        target_models=14,
        holdout=0.5,
    )
    plain, confident = judged(result)[10], judged(result, "random (confidences)")[10]
    assert confident["tie_rate"] == 0
    assert confident["agreement"] > plain["agreement"]
    assert [point["pairs"] for point in confident["curve"]] == [point["pairs"] for point in plain["curve"]]


def test_one_prediction_serves_every_method(data: Matrix) -> None:
    predicted = [{"method": name, "estimator": "blp"} for name in ("random", "confidence_strata")]
    result = made.run(data, methods=["random", *predicted], trials=12, sizes=[10], target_models=12)
    plain, better = (judged_at(result, label)[10] for label in (("random", None), ("random (blp)", 18)))
    assert better["tie_rate"] < plain["tie_rate"]
    assert better["estimation_error"]["mean"] < plain["estimation_error"]["mean"]
    assert made.line(result, "confidence_strata (blp)", 18)["sizes"]


def judged_at(result: dict[str, Any], line: tuple[str, int | None]) -> dict[int, Any]:
    return {entry["size"]: entry["same_items"] for entry in made.line(result, *line)["sizes"]}


def test_a_group_is_always_judged_and_reported_apart(data: Matrix) -> None:
    group = ["m003", "m011", "m020"]
    result = made.run(
        data, methods=["random"], group=group, target_models=5, trials=4, sizes=[20], holdout=0.5
    )
    report = result["group"]
    assert report["models"] == group
    cell = report["methods"][0]["sizes"][0]["same_items"]
    assert cell["pairs"] + cell["equal_pairs"] == 4 * 3
    assert 0 <= cell["agreement"] <= 1
    assert report["exact_random"][0]["same_items"]["pairs"] <= 3
    right = {model: data.scores[data.models.index(model)] for model in group}
    for pair in report["pairs"]:
        better, worse = (right[model] for model in pair["models"])
        assert pair["difference"] == pytest.approx((better.sum() - worse.sum()) / 120, abs=1e-9)
        assert pair["disagreement"] == pytest.approx((better != worse).mean(), abs=1e-9)
    assert len(report["pairs"]) == 3


def test_each_subtask_on_its_own(data: Matrix) -> None:
    request = {"methods": ["random"], "trials": 4, "sizes": [5, 15, 40], "holdout": 0.5}
    result = made.run(data, **request, by_subtask=True)
    assert [part["subtask"] for part in result["subtasks"]] == ["s0", "s1", "s2", "s3"]
    for part in result["subtasks"]:
        assert part["data"]["examples"] == 30
        assert part["data"]["selection_examples"] == 15
        sizes = [entry["size"] for entry in part["methods"][0]["sizes"]]
        assert sizes == [5, 15]
        assert judged(part)[15]["agreement"] == 1
        assert "full benchmark" not in part["recommendation"]["sentence"]
    whole = made.run(data, **request)
    assert whole["methods"] == result["methods"]


def test_too_many_pairs_are_sampled_and_the_result_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    data = made.matrix(made.answers(40, 60))
    request = {"methods": ["random"], "trials": 10, "sizes": [20], "target_models": 30, "holdout": 0.5}
    every = made.run(data, **request)
    monkeypatch.setattr("service.engine.experiment.simulated.MOST_PAIRS", 2000)
    some = made.run(data, **request)
    note = some["data"]["pairs_sampled"]
    assert (note["used"], note["possible"]) == (2000, 4350)
    difference = judged(some)[20]["agreement"] - judged(every)[20]["agreement"]
    assert abs(difference) < 4 * note["added_error"]


def test_no_float_noise_between_lines_that_must_be_equal(data: Matrix) -> None:
    # One example is one stratum's whole weight: random and stratified draw it alike.
    result = made.run(data, methods=["random", "stratified"], trials=1, sizes=[60], holdout=0.5)
    assert judged(result)[60] == judged(result, "stratified")[60]


def test_progress_rises_to_one_and_can_stop_the_work(data: Matrix) -> None:
    plan = made.plan_of(
        data, {"methods": ["random", "stratified"], "trials": 5, "holdout": 0.5, "sizes": [10]}
    )
    (part,) = mdad_job.parts(plan)
    seen: list[float] = []
    mdad_job.run_part(data, plan, part, [], seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1

    def stop(fraction: float) -> None:
        if fraction >= 0.5:
            raise Stopped("asked to")

    with pytest.raises(Stopped):
        mdad_job.run_part(data, plan, part, [], stop)


def test_estimates_travel_as_bytes_unchanged(data: Matrix) -> None:
    plan = made.plan_of(
        data, {"methods": ["random", "anchor_points"], "source_models": 3, "trials": 3, "holdout": 0.5}
    )
    found = run_trials(plan, data, 0, 3, made.silent)
    again = Estimates.from_bytes(found.to_bytes())
    for name in ("targets", "same", "new", "scores", "overlap"):
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))
    assert again.skipped == found.skipped
    assert found.skipped


def test_splits_are_disjoint_and_divide_each_subtask(data: Matrix) -> None:
    plan = made.plan_of(
        data, {"source_models": 12, "target_models": 10, "group": ["m004", "m005"], "holdout": 0.5}
    )
    splitter = Splitter(plan, data)
    for trial in range(5):
        split = splitter.draw(trial)
        assert len(split.targets) == 10
        assert len(split.sources) == 12
        assert not set(split.targets) & set(split.sources)
        assert {4, 5} <= set(split.targets.tolist())
        assert sorted([*split.selection, *split.heldout]) == list(range(120))
        assert np.bincount(data.strata[split.heldout]).tolist() == [15, 15, 15, 15]
    assert not np.array_equal(splitter.draw(0).heldout, splitter.draw(1).heldout)


def test_streams_depend_on_seed_trial_and_purpose_alone() -> None:
    draws = {
        generator(*key).integers(2**62)
        for key in [(0, 0, "a"), (1, 0, "a"), (0, 1, "a"), (0, 0, "b"), (0, 0, "a", "b"), (0, 0, "ab")]
    }
    assert len(draws) == 6
    assert generator(5, 6, "x").integers(2**62) == generator(5, 6, "x").integers(2**62)


def test_kendall_tau_is_scipys() -> None:
    rng = np.random.default_rng(0)
    estimated, true = rng.integers(0, 5, size=(2, 6, 12))
    first, second = np.triu_indices(12, 1)
    order = np.sign(estimated[:, first] - estimated[:, second]).astype(np.int8).reshape(1, -1)
    truth = np.sign(true[:, first] - true[:, second]).astype(np.int8).ravel()
    tau = kendall_tau(order, truth, 6)[0]
    for trial in range(6):
        assert tau[trial] == pytest.approx(stats.kendalltau(estimated[trial], true[trial]).statistic)


def test_kendall_tau_of_a_constant_is_undefined() -> None:
    order, truth = np.zeros((1, 3), dtype=np.int8), np.ones(3, dtype=np.int8)
    assert np.isnan(kendall_tau(order, truth, 1)).all()
