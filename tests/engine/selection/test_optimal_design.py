"""`optimal_design`: greedy against brute force, its options, and its errors on models it has not seen."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.data.contracts import Subset
from service.engine.data.errors import Unsuitable
from service.engine.prediction.covariance import Covariance
from service.engine.prediction.greedy import Greedy, Part
from service.engine.selection.optimal_design import OptimalDesign
from tests.engine.selection.sources import simulated, source
from tools.make_sample import OUTPUT


def fit(scores, strata=None, **options):
    return OptimalDesign(**options).fit(source(scores, strata=strata), np.random.default_rng(0))


def greedy(covariance, plain=None, trust=0.0, **options):
    parts = [Part(covariance, 1.0, 1 - trust), Part(plain or covariance, 0.0, trust)]
    examples = len(covariance.mean)
    defaults = {"include": np.array([], dtype=np.int64), "allowed": np.ones(examples, dtype=bool)}
    strata = np.zeros(examples, dtype=np.int32)
    return Greedy(parts, strata, **(defaults | options))


def any_covariance(seed, examples=20, rank=4):
    rng = np.random.default_rng(seed)
    return Covariance(
        rng.random(examples), rng.normal(size=(examples, rank)), rng.uniform(0.1, 1, examples), 0.5
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1 << 20))
def test_every_step_leaves_the_least_variance_there_can_be(seed):
    c = any_covariance(seed)
    order = greedy(c).first(8).tolist()

    for step, chosen in enumerate(order):
        before = order[:step]
        removed = {j: share_removed(c, before, j) for j in range(20) if j not in before}
        assert removed[chosen] == pytest.approx(max(removed.values()))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1 << 20))
def test_two_covariances_are_weighed_by_how_many_are_chosen(seed):
    learnt, plain = any_covariance(seed), any_covariance(seed + 1, rank=30)
    order = greedy(learnt, plain, trust=0.8).first(12).tolist()

    for step, chosen in enumerate(order):
        before, weight = order[:step], 0.8 * step / 20
        removed = {
            j: (1 - weight) * share_removed(learnt, before, j) + weight * share_removed(plain, before, j)
            for j in range(20)
            if j not in before
        }
        assert removed[chosen] == pytest.approx(max(removed.values()))


def share_removed(c, before, j):
    """By dense algebra: of the full score's variance given `before`, what j takes away."""
    sigma = c.factor @ c.factor.T + np.diag(c.noise)

    def left(seen):
        full = sigma.mean(axis=1)
        return full.mean() - full[seen] @ np.linalg.solve(sigma[np.ix_(seen, seen)], full[seen])

    return 1 - left([*before, j]) / left(before)


def test_the_order_does_not_depend_on_how_far_it_is_asked_for_even_several_at_a_time():
    c = any_covariance(1, examples=1500, rank=5)
    at_once, bit_by_bit = greedy(c), greedy(c)
    for size in (3, 200, 513, 700, 1100):
        bit_by_bit.first(size)
    assert at_once.first(1200).tolist() == bit_by_bit.first(1200).tolist()
    assert sorted(at_once.first(1500).tolist()) == list(range(1500))


def test_larger_subsets_contain_smaller_ones():
    fitted = fit(simulated(40, 90))
    sizes = [1, 2, 10, 40, 89, 90]
    sets = [set(fitted.pick(size).indices.tolist()) for size in sizes]
    assert all(small < large for small, large in pairwise(sets))


def test_what_must_be_in_is_in_and_what_must_not_is_out():
    strata = np.repeat(np.arange(5, dtype=np.int32), 18)
    fitted = fit(simulated(40, 90), strata, include=[3, 77], exclude=[0, 1, 2], per_subtask=3)

    for size in (15, 16, 40, 87):
        chosen = fitted.pick(size).indices
        assert len(chosen) == size
        assert {3, 77} <= set(chosen.tolist())
        assert not {0, 1, 2} & set(chosen.tolist())
        assert np.bincount(strata[chosen], minlength=5).min() >= 3


def test_sizes_the_options_leave_no_subset_for_are_refused_with_those_they_do():
    strata = np.repeat(np.arange(5, dtype=np.int32), 18)
    fitted = fit(simulated(20, 90), strata, include=[3, 4, 5, 6], exclude=[0], per_subtask=2)
    for size, told in ((11, "ask for 12 examples"), (90, "leaves 89 examples")):
        with pytest.raises(Unsuitable, match=told):
            fitted.pick(size)
    with pytest.raises(Unsuitable, match="example 90 of 90"):
        fit(simulated(20, 90), include=[90])
    with pytest.raises(Unsuitable, match="3 costs for 90"):
        fit(simulated(20, 90), costs=[1, 2, 3])


def test_a_subtask_smaller_than_the_quota_is_taken_whole():
    strata = np.array([0] * 2 + [1] * 28, dtype=np.int32)
    chosen = fit(simulated(20, 30), strata, per_subtask=5).pick(7).indices
    assert np.bincount(strata[chosen]).tolist() == [2, 5]


def test_a_budget_is_kept_and_spent_on_what_is_cheap_for_what_it_says():
    scores = simulated(40, 120)
    costs = np.random.default_rng(0).uniform(1, 20, 120).tolist()
    fitted = fit(scores, costs=costs, budget=60.0)

    chosen = fitted.spend()

    spent = sum(costs[j] for j in chosen.indices)
    assert spent <= 60
    assert all(spent + costs[j] > 60 for j in set(range(120)) - set(chosen.indices.tolist()))
    blind = fit(scores)
    afforded = max(n for n in range(1, 121) if sum(costs[j] for j in blind.pick(n).indices) <= 60)
    answers = [
        np.atleast_2d(scores.mean(axis=0)[part]) for part in (chosen.indices, blind.pick(afforded).indices)
    ]
    variance, other = (
        by.predict(given).variance[0]
        for by, given in zip(
            (fitted.predictor(chosen), blind.predictor(blind.pick(afforded))), answers, strict=True
        )
    )
    assert variance < other


def test_a_budget_without_costs_is_a_size():
    scores = simulated(30, 50)
    assert fit(scores, budget=12).spend().indices.tolist() == fit(scores).pick(12).indices.tolist()


def test_a_budget_that_pays_for_nothing_is_refused():
    with pytest.raises(Unsuitable, match="does not pay for one example"):
        fit(simulated(20, 10), costs=[5.0] * 10, budget=4).spend()
    with pytest.raises(Unsuitable, match="must be chosen"):
        fit(simulated(20, 10), costs=[5.0] * 10, budget=9, include=[1, 2]).spend()
    strata = np.repeat([0, 1], [8, 2]).astype(np.int32)
    dear = fit(simulated(20, 10), strata, costs=[1.0] * 8 + [50.0] * 2, budget=9, per_subtask=1)
    with pytest.raises(Unsuitable, match="must be chosen"):
        dear.spend()
    with pytest.raises(Unsuitable, match="no budget"):
        fit(simulated(20, 10)).spend()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"include": [1, 1]}, "include"),
        ({"exclude": [-1]}, "exclude"),
        ({"exclude": [True]}, "exclude"),
        ({"include": ["a"]}, "include"),
        ({"include": [4], "exclude": [4]}, "example 4"),
        ({"per_subtask": 1.5}, "per_subtask"),
        ({"per_subtask": -1}, "per_subtask"),
        ({"costs": [1.0, 0.0]}, "costs"),
        ({"costs": [1.0, float("nan")]}, "costs"),
        ({"budget": 0}, "budget"),
        ({"expect": "worse"}, "expect"),
        ({"guarantee": 1}, "guarantee"),
        ({"guarantee": True, "exclude": [1]}, "include only"),
        ({"budget": float("inf")}, "budget"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(options, told):
    with pytest.raises(ValueError, match=told):
        OptimalDesign(**options)


@pytest.fixture(scope="module")
def digits():
    with np.load(OUTPUT, allow_pickle=False) as arrays:
        rng = np.random.default_rng(0)
        strata = np.unique(arrays["subtasks"], return_inverse=True)[1].astype(np.int32)
        return arrays["scores"][rng.permutation(len(arrays["scores"]))], strata


@pytest.mark.parametrize(("sources", "least"), [(3, 0.84), (4, 0.84), (10, 0.84)])
def test_on_the_sample_intervals_of_new_models_are_wide_enough_however_few_the_sources(
    digits, sources, least
):
    scores, strata = digits
    covered = []
    for seed in range(12):
        order = np.random.default_rng(seed).permutation(len(scores))
        fitted = fit(scores[order[:sources]], strata)
        subset = fitted.pick(50)
        new = scores[order[sources:]]
        low, high = fitted.predictor(subset).predict(new[:, subset.indices].astype(float)).interval().T
        covered.append(((low <= new.mean(axis=1)) & (new.mean(axis=1) <= high)).mean())
    assert least < np.mean(covered) <= 1


@pytest.mark.parametrize("sources", [10, 50])
@pytest.mark.parametrize("size", [10, 50, 200])
def test_on_the_sample_new_models_are_ordered_and_scored_better_than_by_random_sampling(
    digits, sources, size
):
    scores, strata = digits
    targets, truth = scores[sources:].astype(float), scores[sources:].mean(axis=1)
    fitted = fit(scores[:sources], strata)
    subset = fitted.pick(size)
    errors, agreements = [], []
    rng = np.random.default_rng(1)
    for _ in range(30):
        means = targets[:, rng.permutation(1200)[:size]].mean(axis=1)
        errors.append(np.abs(means - truth).mean())
        agreements.append(agreement(means, truth))

    estimates = fitted.estimate(subset, targets[:, subset.indices], "blp")

    assert np.abs(estimates - truth).mean() < np.mean(errors)
    assert agreement(estimates, truth) > np.mean(agreements)


def agreement(estimates, truth):
    i, j = np.triu_indices(len(truth), 1)
    return ((estimates[i] - estimates[j]) * (truth[i] - truth[j]) > 0).mean()


def test_intervals_cover_models_not_seen():
    scores = simulated(500, 200, seed=3, dimensions=2)
    covered = []
    for part in range(5):
        rows = np.arange(part * 100, part * 100 + 40)
        fitted = fit(scores[rows])
        subset = fitted.pick(30)
        others = np.delete(scores, rows, axis=0).astype(float)
        answers, truth = others[:, subset.indices], others.mean(axis=1)
        low, high = fitted.predictor(subset).predict(answers).interval().T
        covered.append((low <= truth) & (truth <= high))

    assert 0.84 < np.mean(covered) < 0.96


def test_all_examples_leave_no_doubt():
    scores = simulated(50, 40)
    fitted = fit(scores[:40])
    everything = fitted.pick(40)
    answers = scores[40:].astype(float)
    found = fitted.predictor(everything).predict(answers).interval()
    assert found == pytest.approx(np.stack([answers.mean(axis=1)] * 2, axis=1))


def test_graded_scores_with_many_sources_are_scored_to_scale():
    """Skewed scores: a linear prediction overshoots for poor models; curves do not."""
    rng = np.random.default_rng(4)
    ability = rng.normal(size=(300, 1))
    scores = 1 / (1 + np.exp(rng.normal(-2, 1, 200) - ability + rng.normal(scale=1.5, size=(300, 200))))
    fitted = fit(scores[:80])
    subset = fitted.pick(20)
    answers, truth = scores[80:, subset.indices], scores[80:].mean(axis=1)
    plain = answers.mean(axis=1)
    estimates = fitted.estimate(subset, answers, "blp")
    assert np.abs(estimates - truth).mean() < 0.7 * np.abs(plain - truth).mean()
    assert np.polyfit(estimates, truth, 1)[0] == pytest.approx(1, abs=0.12)


def test_any_subset_can_be_asked_about():
    scores = simulated(60, 50)
    fitted = fit(scores[:50])
    mine = Subset(np.arange(0, 50, 5), np.full(10, 0.1))
    assert np.isfinite(fitted.estimate(mine, scores[50:, ::5].astype(float), "blp")).all()


def test_six_thousand_examples_never_meet_six_thousand():
    """Memory: what is asked for at once stays far below one N × N array."""
    scores = simulated(40, 6000)
    tracemalloc.start()
    fit(scores).pick(50)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000


@pytest.mark.parametrize("expect", ["like", "better"])
def test_a_guarantee_is_a_sample_with_the_probabilities_recorded(expect):
    scores = simulated(40, 90)
    fitted = OptimalDesign(include=[3], guarantee=True, expect=expect).fit(
        source(scores), np.random.default_rng(0)
    )
    counts, inclusion = np.zeros(90), np.zeros(90)
    for seed in range(2000):
        subset = found_again(fitted, seed).pick(20)
        counts[subset.indices] += 1
        inclusion[subset.indices] = subset.inclusion

    assert len(subset.indices) == 20
    assert inclusion[3] == 1
    assert inclusion.sum() == pytest.approx(20, abs=0.01)
    np.testing.assert_allclose(counts / 2000, inclusion, atol=0.05)


def found_again(fitted, seed):
    """The same fit with another draw."""
    fitted._start = float(np.random.default_rng(seed).random())
    return fitted


def test_a_guaranteed_score_is_unbiased_for_a_model_unlike_any_other():
    scores = simulated(40, 200)
    odd = np.atleast_2d(1.0 - scores.mean(axis=0).round())
    found = OptimalDesign(guarantee=True).fit(source(scores), np.random.default_rng(0))
    estimates = []
    for seed in range(300):
        subset = found_again(found, seed).pick(40)
        estimates.append(found.estimate(subset, odd[:, subset.indices], "blp")[0])
    assert np.mean(estimates) == pytest.approx(odd.mean(), abs=0.015)
