"""Recommendations: the status fits the evidence, the choice is honest, caveats are said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from service.engine.data.matrix import Matrix
from service.engine.reliability.own_pairs import close_pairs
from tests.engine import made


def spread_out(models: int = 30, examples: int = 400, *, gap: float = 0.03, seed: int = 0) -> Matrix:
    """Models that lie `gap` apart and agree otherwise: easy to order from few examples."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(examples)
    scores = np.zeros((models, examples), dtype=np.uint8)
    for model in range(models):
        scores[model, order[: int(examples * (0.05 + gap * model))]] = 1
    return made.matrix(scores)


def test_recommended_when_a_size_reaches_the_target() -> None:
    result = made.run(
        spread_out(), methods=["random"], trials=20, sizes=[20, 50, 100], truth="same_items", target_mdad=0.05
    )
    found = result["recommendation"]
    assert found["status"] == "recommended"
    assert found["method"] == "random"
    assert found["fraction"] == found["size"] / 400
    assert found["mdad"] <= 0.05
    assert found["interval"][0] <= found["seed_interval"][0] <= found["mdad"]
    assert found["mdad"] <= found["seed_interval"][1] <= found["interval"][1]
    assert str(found["size"]) in found["sentence"]
    assert found["exact_random"]["agreement"] > 0.5
    assert found["alternatives"][0]["method"] == "random"


def test_the_size_is_found_to_the_example_and_is_the_first_within_the_target() -> None:
    data = made.matrix(made.answers(40, 300))
    found = made.run(data, methods=["random"], target_mdad=0.06)["recommendation"]
    measured = made.run(
        data, methods=["random"], target_mdad=0.06, sizes=list(range(found["size"] - 2, found["size"] + 3))
    )
    mdads = {entry["size"]: entry["same_items"]["mdad"] for entry in measured["exact_random"]}
    first = min(n for n, mdad in mdads.items() if mdad <= 0.06)
    assert abs(found["size"] - first) <= 1
    assert found["size_interval"] == [found["size"]] * 2


def test_the_default_target_is_one_and_a_half_resolutions_with_others_beside_it() -> None:
    result = made.run(made.matrix(made.answers(30, 300)), methods=["random"])
    found = result["recommendation"]
    assert found["target_is_default"]
    assert found["target_mdad"] == pytest.approx(1.5 * found["resolution"], abs=1e-9)
    notes = {entry["note"]: entry["target_mdad"] for entry in result["by_target"] if entry["note"]}
    assert notes == {
        f"{times:g} × resolution": pytest.approx(times * found["resolution"], abs=1e-9)
        for times in (1.25, 1.5, 2)
    }
    assert {0.01, 0.02, 0.03, 0.05} <= {entry["target_mdad"] for entry in result["by_target"]}
    assert "1.5 times that" in found["sentence"]


def test_new_questions_need_more_than_the_resolution() -> None:
    data = made.matrix(made.answers(30, 300))
    drawn = made.run(data, methods=["random"], purpose="new_questions", target_mdad=0.1)
    found = drawn["recommendation"]
    assert found["status"] == "recommended"
    assert 0 < found["other_purpose"]["mdad"] < found["mdad"] <= 0.1
    assert found["mdad"] ** 2 == pytest.approx(
        found["other_purpose"]["mdad"] ** 2 + found["resolution"] ** 2, rel=1e-3
    )
    below = found["resolution"] / 2
    missed = made.run(data, methods=["random"], purpose="new_questions", target_mdad=below)["recommendation"]
    assert missed["status"] == "target_missed"
    assert "the benchmark itself cannot" in missed["sentence"]
    assert missed["best_tested"]["mdad"] > below


def test_a_missed_target_is_a_status_with_the_best_reached() -> None:
    result = made.run(made.matrix(made.answers(30, 120)), methods=["random"], target_mdad=0.05, max_size=20)
    found = result["recommendation"]
    assert found["status"] == "target_missed"
    assert found["size"] is None
    assert found["best_tested"]["mdad"] > 0.05
    assert found["sentence"].startswith("The target is missed: no size up to 20 ")


def test_full_benchmark_when_no_size_reaches_the_target() -> None:
    result = made.run(made.matrix(made.answers(30, 120)), methods=["random"], target_mdad=0.001)
    found = result["recommendation"]
    assert found["status"] == "use_full_benchmark"
    assert found["size"] is None
    assert "full benchmark" in found["sentence"]
    assert found["own_pairs"]["threshold"] == 0.001


def test_not_reached_when_nothing_orders_models() -> None:
    coin = np.random.default_rng(0).integers(0, 2, size=(40, 60)).astype(np.uint8)
    result = made.run(made.matrix(coin), methods=["random"], trials=30, sizes=[1, 2], probability=0.99)
    assert result["recommendation"]["status"] == "not_reached"


def test_models_that_all_score_the_same_have_no_order_to_keep() -> None:
    data = made.matrix(np.tile(np.arange(60) % 2, (20, 1)).astype(np.uint8))
    found = made.run(data, methods=["random"], trials=3, sizes=[5])["recommendation"]
    assert found["status"] == "not_reached"
    assert found["sentence"].startswith("All models have the same score")


def test_what_to_select_says_what_answers_are() -> None:
    data = spread_out()
    scored = replace(data, confidences=0.1 + 0.8 * data.scores.astype(np.float32))
    request = {"methods": [{"method": "random", "scored_by": "confidences"}], "truth": "same_items"}
    found = made.run(scored, **request, trials=4, sizes=[100], target_mdad=0.2)["recommendation"]
    assert found["select"] == {
        "method": "random",
        "estimator": "mean",
        "options": {},
        "scored_by": "confidences",
        "size": 100,
    }


def test_where_every_method_was_skipped_nothing_is_said_to_have_been_measured() -> None:
    data = made.matrix(made.answers(24, 100))
    request = {"methods": ["anchor_points"], "source_models": 2, "target_models": 12}
    found = made.run(data, **request, trials=3, sizes=[5])["recommendation"]
    assert found["status"] == "not_reached"
    assert "nothing was measured" in found["sentence"]
    assert any("anchor_points was skipped" in caveat for caveat in found["caveats"])


def test_a_size_of_one_reads_well() -> None:
    data = made.matrix(made.answers(30, 200, spread=2))
    found = made.run(data, methods=["random"], sizes=[1], target_mdad=0.3)["recommendation"]
    assert "The best tested, 1 example drawn at random" in found["sentence"]


@pytest.mark.parametrize("models", [2, 3, 8])
def test_few_models_get_the_size_that_their_disagreement_asks_for(models: int) -> None:
    data = made.matrix(made.answers(models, 300, spread=2))
    found = made.run(data, methods=["random"], target_mdad=0.1)["recommendation"]
    assert (found["status"], found["method"]) == ("recommended", "random")
    assert found["interval"] is None
    rates = [np.mean(data.scores[i] != data.scores[j]) for i in range(models) for j in range(i)]
    # m = z √((D − m²)/n (N − n)/(N − 1)), solved for n between the least and the most disagreement.
    needed = [(0.8416**2 * (d - 0.01) / 0.01) for d in (min(rates), max(rates))]
    low, high = (x / (1 + x / 300) for x in needed)
    assert low * 0.95 - 1 <= found["size"] <= high * 1.05 + 1
    assert any(f"{models} models are too few" in caveat for caveat in found["caveats"])


def test_how_many_models_more_would_halve_the_interval() -> None:
    found = made.run(made.matrix(made.answers(12, 120)), methods=["random"])["recommendation"]
    assert found["more_models"] == 36
    assert any("36 models more would halve the interval" in caveat for caveat in found["caveats"])


def test_sizes_above_the_largest_wanted_are_not_recommended() -> None:
    request = {"methods": ["random"], "trials": 10, "sizes": [2, 100], "truth": "same_items"}
    data = spread_out()
    free = made.run(data, **request, target_mdad=0.05)["recommendation"]
    capped = made.run(data, **request, target_mdad=0.05, max_size=50)["recommendation"]
    assert free["size"] == 100
    assert capped["status"] == "target_missed"


def test_the_simplest_method_that_is_as_good_as_the_best() -> None:
    # Without subtasks stratified draws are random ones: no difference, so random is named.
    result = made.run(
        spread_out(),
        methods=["stratified", "random"],
        trials=20,
        sizes=[50],
        truth="same_items",
        target_mdad=0.1,
    )
    assert result["recommendation"]["method"] == "random"
    assert any("Without subtasks" in caveat for caveat in result["recommendation"]["caveats"])
    stratified, random = (made.line(result, name) for name in ("stratified", "random"))
    assert stratified["same_as"] == "random"
    assert random["sizes"] == stratified["sizes"]


def test_random_is_enough_where_no_method_is_clearly_better() -> None:
    data = made.matrix(made.answers(30, 200), [f"s{j % 4}" for j in range(200)])
    request = {"methods": ["random", "stratified"], "trials": 10, "sizes": [10, 50, 100]}
    result = made.run(data, **request, holdout=0.5)
    found = result["recommendation"]
    better = {
        entry["size"]
        for entry in result["differences"]
        for other in entry["others"]
        if other["label"] == "random" and other["agreement"]["interval"][1] < 0
    }
    expected = [size for size in (10, 50, 100) if not any(s >= size for s in better)]
    assert found["random_enough_from"] == (expected[0] if expected else None)


def test_differences_are_paired_with_the_best() -> None:
    data = made.matrix(made.answers(30, 200), [f"s{j % 4}" for j in range(200)])
    result = made.run(data, methods=["random", "stratified"], trials=10, sizes=[10, 50], holdout=0.5)
    for entry in result["differences"]:
        cells = {
            m["label"]: next(s for s in m["sizes"] if s["size"] == entry["size"])[entry["truth"]]
            for m in result["methods"]
        }
        best = entry["best"]["label"]
        assert cells[best]["agreement"] == max(cell["agreement"] for cell in cells.values())
        for other in entry["others"]:
            gap = cells[other["label"]]["agreement"] - cells[best]["agreement"]
            assert other["agreement"]["difference"] == pytest.approx(gap, abs=1e-9)
            low, high = other["agreement"]["interval"]
            assert low <= gap <= high
            # Common draws of models cancel: the paired interval is narrower than either's own.
            own = cells[best]["agreement_interval"]
            assert high - low < 2 * (own[1] - own[0])


def test_caveats_name_constant_examples_and_repeated_models() -> None:
    scores = made.answers(24, 100)
    scores[:, 7] = 1
    scores[3] = scores[4] = scores[5]
    found = made.run(made.matrix(scores), methods=["random"], trials=3, holdout=0.5)
    caveats = found["recommendation"]["caveats"]
    constant = int((scores.min(axis=0) == scores.max(axis=0)).sum())
    have = "has" if constant == 1 else "have"
    assert any(f"{constant} of 100 examples {have} the same score" in caveat for caveat in caveats)
    assert any("2 models answer exactly as another" in caveat for caveat in caveats)
    assert any("Only 3 trials" in caveat for caveat in caveats)


def test_a_method_that_orders_well_and_estimates_badly_comes_with_a_warning() -> None:
    """Diverse examples are the odd ones; their plain mean is not the benchmark's."""
    rng = np.random.default_rng(0)
    easy = np.ones((30, 300), dtype=np.uint8)
    hard = made.answers(30, 100, spread=2) & made.answers(30, 100, seed=5, spread=2)
    data = made.matrix(np.concatenate((easy, hard), axis=1)[:, rng.permutation(400)])
    request = {"methods": ["optimal_design", "diversity"], "sizes": [40], "trials": 4, "target_mdad": 0.2}
    result = made.run(data, **request, truth="same_items")
    errors = {m["label"]: m["sizes"][0]["same_items"]["estimation_error"]["mean"] for m in result["methods"]}
    assert result["recommendation"]["method"] == "diversity"
    assert errors["diversity"] > 2 * errors["optimal_design"] + 0.02
    caveats = result["recommendation"]["caveats"]
    assert any("diversity are off by" in text and "those of optimal_design" in text for text in caveats)


def brute_force(scores: np.ndarray, threshold: float) -> int:
    means = scores.mean(axis=1)
    return sum(abs(means[i] - means[j]) < threshold - 1e-9 for i in range(len(means)) for j in range(i))


@pytest.mark.parametrize("threshold", [0.0, 0.01, 0.05, 0.2, 1.0])
def test_close_pairs_are_counted(threshold: float) -> None:
    scores = made.answers(25, 100)
    found = close_pairs(made.matrix(scores), np.arange(25), threshold, most=10)
    assert found.total == 300
    assert found.too_close == brute_force(scores, threshold)
    assert len(found.examples) == min(10, found.too_close)


def test_close_pairs_are_listed_best_neighbours_first_with_their_disagreement() -> None:
    scores = made.answers(25, 100)
    data = made.matrix(scores)
    means = scores.mean(axis=1)
    ranked = np.argsort(-means, kind="stable")
    first = close_pairs(data, np.arange(25), 1.0, most=3).examples[0]
    assert first.models == (data.models[ranked[0]], data.models[ranked[1]])
    assert first.difference == pytest.approx(means[ranked[0]] - means[ranked[1]])
    assert first.disagreement == pytest.approx((scores[ranked[0]] != scores[ranked[1]]).mean())


def test_close_pairs_of_graded_scores() -> None:
    scores = made.skills(12, 50)
    found = close_pairs(made.matrix(scores), np.arange(12), 1.0, most=1).examples[0]
    better, worse = (scores[int(name[1:])] for name in found.models)
    assert found.difference == pytest.approx(better.mean() - worse.mean())
    assert found.disagreement == pytest.approx(np.abs(better - worse).mean())
