"""What users of such tools hit: one test a row of the case list, A (reference code) and E (subsets).

The names carry the row. Held elsewhere, with the numbers of the public issues they come from: A9–A13 in
selection/test_random_sampling.py; A16 in selection/test_contract.py; A20, A22 in tests/api/routes
(test_compare.py, test_matrices.py); A23, E2, E5 in tests/api/routes/test_jobs.py; C in
comparison/test_cases.py; E3 in reliability/test_mdad_job.py; E6 in planning/test_plan.py; E20 in
tests/jobs/test_submit.py; E21 in comparison/test_drift.py.
"""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from service.engine.comparison import Design, rank
from service.engine.data.item_rest import doubtful, item_rest
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.microbenchmark import select
from service.engine.numerics import irt
from service.engine.planning.plan import PlanError, select_plan
from service.engine.selection.anchor_points import AnchorPoints
from service.engine.selection.diversity import Diversity
from service.engine.selection.registry import METHODS
from service.engine.selection.tinybenchmarks import TinyBenchmarks
from tests.engine import made
from tests.engine.selection.sources import simulated, source

EVERY = pytest.mark.parametrize("name", METHODS)


def known(scores: np.ndarray, size: int, **more: Any) -> dict[str, Any]:
    """Exact random sampling of `size` examples, judged on all models and all examples."""
    result = made.run(
        made.matrix(scores), methods=["random"], target_models="all", holdout=0, sizes=[size], **more
    )
    found: dict[str, Any] = result["exact_random"][0]["same_items"]
    return found


def ladder(examples: int, *rights: int) -> np.ndarray:
    """Models that get the first so many examples right."""
    return (np.arange(examples) < np.array(rights)[:, None]).astype(np.uint8)


def drawn(name: str, data: Matrix, size: int) -> dict[str, Any]:
    return select.run(data, select_plan({"method": name, "size": size}, Outline.of(data)), made.silent)


def test_a1_never_better_than_chance_is_not_reached() -> None:
    found = known(ladder(200, *range(90, 110)), 1)
    assert (found["mdad"], found["mdad_paper"], found["reason"]) == (None, None, "not_reached")
    assert found["largest_difference"] == pytest.approx(19 / 200)


@pytest.mark.parametrize("step", [29, 57, 58, 113, 114, 115, 116])
def test_a2_every_half_point_has_its_bin(step: int) -> None:
    found = known(ladder(200, 10, 10 + step), 200)
    assert found["mdad_isotonic"] == found["mdad_paper"] == pytest.approx(step / 200)


def test_a3_differences_between_the_half_points_have_bins_too() -> None:
    found = known(ladder(10_000, 0, 123, 354), 10_000)
    assert [point["difference"] for point in found["curve"]] == pytest.approx([0.01, 0.02, 0.035])
    assert found["mdad_isotonic"] == found["mdad_paper"] == pytest.approx(0.01)


def test_a5_agreement_that_falls_again_counts_from_where_it_stays() -> None:
    """Two families that agree within, and on nothing with each other: near pairs are the easy ones."""
    first, second = ladder(200, *range(80, 104, 2)), ladder(200, *range(81, 105, 2))[:, ::-1]
    result = made.run(
        made.matrix(np.concatenate((first, second))),
        **{"methods": ["random"], "target_models": "all", "holdout": 0, "sizes": [100], "target_mdad": 0.1},
    )
    found, answer = result["exact_random"][0]["same_items"], result["recommendation"]
    curve = {point["difference"]: point["agreement"] for point in found["curve"]}
    assert curve[0.015] < 0.7 < 0.8 < curve[0.01]
    assert found["mdad_isotonic"] >= 0.02
    (caveat,) = [text for text in answer["caveats"] if "does not grow steadily" in text]
    assert "first reaches 80 % at 1 point and" in caveat
    assert f"from {100 * found['mdad_isotonic']:.3g} points on" in caveat


def test_a6_nothing_to_compare_is_said() -> None:
    found = known(ladder(20, *[7] * 12), 5)
    assert (found["mdad"], found["pairs"], found["equal_pairs"]) == (None, 0, 66)
    assert found["reason"] == "no comparable pairs"


def test_a7_a21_pairs_equal_on_the_full_benchmark_are_counted_apart_whatever_the_order() -> None:
    rows = np.concatenate((ladder(60, 30, 20, 10), ladder(60, 30)[:, ::-1]))
    found = [known(rows[list(order)], 5) for order in itertools.permutations(range(4))]
    assert {cell["equal_pairs"] for cell in found} == {1}
    for key in ("agreement", "agreement_strict", "tie_rate"):
        assert [cell[key] for cell in found] == pytest.approx([found[0][key]] * 24)


def test_a8_strict_half_credit_and_tie_rate_are_reported() -> None:
    found = known(ladder(100, 12, 20), 25)
    tie = stats.hypergeom(100, 8, 25).pmf(0)
    assert found["tie_rate"] == pytest.approx(tie)
    assert found["agreement_strict"] == pytest.approx(1 - tie)
    assert found["agreement"] == pytest.approx(1 - tie / 2)


def test_a14_one_constant_example_is_set_aside_and_still_weighs() -> None:
    scores = np.column_stack((simulated(40, 29), np.ones(40, dtype=np.uint8)))
    subset = AnchorPoints().fit(source(scores), np.random.default_rng(0)).pick(5)
    assert 29 not in subset.indices
    assert subset.weights.sum() == pytest.approx(1)
    assert subset.weights.max() < 27 / 30


@pytest.mark.parametrize("models", [1, 2])
def test_a15_too_few_source_models_skip_anchor_points_and_nothing_else(models: int) -> None:
    data = made.matrix(made.answers(14, 60))
    result = made.run(
        data, methods=["random", "anchor_points"], source_models=models, target_models=12, trials=2, sizes=[5]
    )
    assert "at least 10 source models" in made.line(result, "anchor_points", models)["skipped"]
    assert made.line(result, "random")["sizes"][0]["same_items"]["agreement"] > 0.5


@pytest.mark.parametrize("method", [AnchorPoints(), TinyBenchmarks(), Diversity()], ids=lambda m: m.name)
def test_a17_a18_eight_of_four_distinct_examples_are_eight_with_weight(method: Any) -> None:
    data = source(np.repeat(simulated(30, 4, seed=2), 5, axis=1))
    subset = method.fit(data, np.random.default_rng(0)).pick(8)
    assert len(set(subset.indices.tolist())) == len(subset.weights) == 8
    assert subset.weights.min() > 0
    assert subset.weights.sum() == pytest.approx(1)


def test_a19_all_right_is_finite_and_nan_never_an_estimate() -> None:
    method = TinyBenchmarks(dimensions=2).fit(source(simulated(60, 80)), np.random.default_rng(0))
    subset = method.pick(10)
    for estimator in ("pirt", "gpirt"):
        assert 0.5 < method.estimate(subset, np.ones((1, 10)), estimator)[0] < 0.999
    scores = made.answers(20, 40).astype(float)
    scores[3, 5] = np.nan
    with pytest.raises(PlanError, match="1 cell has no score"):
        select_plan({"method": "tinybenchmarks", "size": 5}, Outline.of(made.matrix(scores)))


def test_a24_a_fit_that_does_not_converge_fails_its_method_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = irt.Irt(np.zeros((9, 1)), np.zeros((9, 1)), np.zeros(9), 1000, converged=False)
    monkeypatch.setattr(irt, "fit", lambda scores, dimensions: cut)
    data = made.matrix(made.answers(24, 60))
    result = made.run(data, methods=["random", "tinybenchmarks"], trials=2, sizes=[5])
    assert "did not converge" in made.line(result, "tinybenchmarks", 12)["skipped"]
    assert made.line(result, "random")["sizes"]


def test_c22_a_constant_estimate_has_no_tau_and_says_so() -> None:
    scores = np.column_stack((ladder(60, *range(20, 44)), np.ones((24, 60), dtype=np.uint8)))
    cell = made.line(made.run(made.matrix(scores[:, 44:]), methods=["random"], trials=2), "random")
    taus = [row["same_items"]["kendall_tau"] for row in cell["sizes"]]
    assert all(tau["mean"] is None and tau["reason"] for tau in taus)


@EVERY
def test_e7_every_method_says_how_stable_its_choice_is(name: str) -> None:
    data = made.matrix(made.answers(24, 60))
    found = drawn(name, data, 12)
    assert 0 <= found["stability"] <= 1
    assert drawn(name, data, 60)["stability"] == 1
    result = made.run(data, methods=[name], trials=3, sizes=[12], holdout=0.5)
    (line,) = result["methods"]
    assert [row["size"] for row in line["stability"]] == [12]
    assert 0 <= line["stability"][0]["jaccard"] <= 1


def test_e8_refits_of_the_irt_model_agree() -> None:
    """1,700 × 20: difficulties of the public fit correlate from -.58 to .99 between runs."""
    scores = simulated(1700, 20, dimensions=1)
    halves = [irt.fit(scores[half::2], 1) for half in (0, 1)]
    assert all(fit.converged for fit in halves)
    assert np.corrcoef(halves[0].difficulty, halves[1].difficulty)[0, 1] > 0.98


@EVERY
def test_e9_no_order_of_models_or_examples_changes_a_choice(name: str) -> None:
    data = made.matrix(made.answers(24, 50), [f"s{j % 3}" for j in range(50)])
    rows, columns = np.random.default_rng(0).permutation(24), np.random.default_rng(1).permutation(50)
    shuffled = Matrix.build(
        [data.models[i] for i in rows],
        [data.examples[j] for j in columns],
        data.scores[np.ix_(rows, columns)],
        subtasks=[data.subtasks[data.strata[j]] for j in columns],
    )
    assert drawn(name, data, 9) == drawn(name, shuffled, 9)


def test_e10_a_mislabelled_example_does_not_flip_the_scale_and_is_found() -> None:
    scores = simulated(200, 40, dimensions=1)
    scores[:, 0] = (
        1 - scores[:, 0] if np.corrcoef(scores[:, 0], scores.mean(axis=1))[0, 1] > 0 else scores[:, 0]
    )
    model = irt.fit(scores, 1)
    assert np.corrcoef(model.ability[:, 0], scores.mean(axis=1))[0, 1] > 0.9
    data = made.matrix(scores)
    assert 0 in doubtful(data, item_rest(data))


def test_e11_no_foreign_irt_package_is_needed() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    needed = " ".join(project["dependencies"])
    assert not any(name in needed for name in ("py-irt", "girth", "torch", "kmedoids", "dppy"))


def test_e12_constants_missing_cells_and_hard_examples_leave_abilities_finite_and_in_order() -> None:
    scores = simulated(40, 30, dimensions=1).astype(np.float64)
    scores[:, :3], scores[:, 3] = 1, 0
    observed = np.ones(scores.shape, dtype=bool)
    observed[5, 7] = observed[9, 12] = False
    model = irt.fit(scores, 1, observed=observed)
    assert np.isfinite(model.ability).all()
    assert np.isfinite(model.difficulty).all()
    hard = np.sort(np.argsort(model.difficulty)[-5:])
    wrong, right = model.abilities(hard, np.array([[0.0] * 5, [1.0] * 5]))[:, 0]
    assert -5 < wrong < right < 5


def test_e13_graded_scores_stay_graded_and_near_constant_is_not_constant() -> None:
    scores = np.round(0.8 + 0.2 * made.skills(20, 23), 3)
    scores[:, 22] = 0.85
    result = made.run(made.matrix(scores), methods=["random"], trials=2, sizes=[11])
    assert (result["data"]["binary"], result["data"]["constant_examples"]) == (False, 1)
    cell = result["methods"][0]["sizes"][0]["same_items"]
    assert cell["estimation_error"]["mean"] < 0.05
    assert cell["tie_rate"] == 0


@pytest.mark.parametrize("size", [1, 3, 4, 7, 39, 40])
def test_e14_e15_diversity_beyond_the_rank_gives_exactly_what_was_asked(size: int) -> None:
    points = np.repeat(np.eye(4, dtype=np.float32), 10, axis=0)
    data = source(simulated(12, 40), embeddings=points)
    subset = Diversity().fit(data, np.random.default_rng(0)).pick(size)
    assert len(set(subset.indices.tolist())) == size
    assert np.bincount(subset.indices // 10, minlength=4).max() == -(-size // 4)


@EVERY
def test_e17_one_example_and_all_of_them_are_legal(name: str) -> None:
    data = made.matrix(made.answers(24, 30))
    result = made.run(data, methods=[name], trials=3, sizes=[1, 30], holdout=0, target_models=10)
    one, everything = (row["same_items"] for row in result["methods"][0]["sizes"])
    assert 0 < one["agreement"] <= 1
    assert everything["agreement"] == everything["agreement_strict"] == 1
    assert everything["estimation_error"] == {"mean": 0, "p90": 0}


def test_e18_a_ranking_over_gaps_shows_each_models_coverage() -> None:
    scores = made.answers(6, 100).astype(float)
    scores[2, :69] = np.nan
    found = rank(scores, Design.random(100, 1000))
    assert {row.model: row.coverage for row in found.models}[2] == pytest.approx(0.31)
    widths = {row.model: row.rank_interval[1] - row.rank_interval[0] for row in found.models}
    assert widths[2] == max(widths.values())


def test_e19_the_result_says_which_mean_a_score_is() -> None:
    data = made.matrix(made.answers(12, 60), ["a"] * 50 + ["b"] * 10)
    assert made.run(data, methods=["random"], trials=2)["data"]["estimand"] == "micro"
