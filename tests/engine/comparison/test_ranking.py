import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.engine.comparison.mcnemar import mid_p
from service.engine.comparison.paired import PairedScores, difference
from service.engine.comparison.ranking import (
    adjusted_means,
    pairwise_critical,
    rank,
    simultaneous_confidence,
)
from service.engine.comparison.sampling_design import Design
from service.engine.data.errors import Undefined


def place(ranking, model):
    return next(row for row in ranking.models if row.model == model)


def noisy(models, examples, spread, seed=0):
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(0, spread, (models, 1)), rng.normal(size=examples)
    return (rng.random((models, examples)) < 1 / (1 + np.exp(difficulty - ability))).astype(float)


def test_critical_values_of_the_studentized_range_table():
    """q(.95; 3, 5, 10; ∞) = 3.314, 3.858, 4.474 (Harter 1960)."""
    for models, q in ((3, 3.314), (5, 3.858), (10, 4.474)):
        assert pairwise_critical(models, 0.95) == pytest.approx(q / 2**0.5, abs=4e-4)
    assert pairwise_critical(2, 0.95) == pytest.approx(stats.norm.ppf(0.975))


def test_two_models_are_separated_when_mcnemar_separates_them():
    rng = np.random.default_rng(1)
    for _ in range(50):
        scores = rng.integers(0, 2, (2, 60)).astype(float)
        told = [int((scores[i] > scores[1 - i]).sum()) for i in (0, 1)]
        assert rank(scores, Design.random(60, 600)).separable_pairs == (mid_p(*told) <= 0.05)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8), st.integers(5, 60), st.integers(0, 10_000), st.booleans())
def test_laws_of_ranks(models, examples, seed, graded):
    rng = np.random.default_rng(seed)
    scores = (
        rng.random((models, examples)) if graded else rng.integers(0, 2, (models, examples)).astype(float)
    )
    found = rank(scores, Design.random(examples, 2 * examples))
    for row in found.models:
        assert row.rank_interval[0] <= row.rank <= row.rank_interval[1]
        assert row.interval[0] <= row.score <= row.interval[1]
        low, high = row.difference_from_best_interval
        assert low <= row.difference_from_best + 1e-9 <= high + 2e-9
    assert sorted(row.model for row in found.models) == list(range(models))
    assert np.mean([row.win_rate for row in found.models]) == pytest.approx(0.5)
    assert set().union(*found.tie_groups) == set(range(models))


def test_the_order_of_models_in_the_upload_does_not_matter():
    scores = noisy(12, 300, 1.0)
    order = np.random.default_rng(0).permutation(12)
    straight, shuffled = (rank(rows, Design.random(300, 300)) for rows in (scores, scores[order]))
    for at, model in enumerate(order):
        assert place(shuffled, at).rank_interval == place(straight, model).rank_interval


def test_far_apart_models_are_told_apart_and_alike_ones_share_a_group():
    scores = np.vstack([np.ones((2, 200)), np.zeros((2, 200))])
    scores[1, 0], scores[3, 0] = 0, 1
    found = rank(scores, Design.random(200, 200))
    assert found.tie_groups == ((0, 1), (3, 2))
    assert found.separable_pairs == 4
    assert found.separable_neighbours == 1
    assert [place(found, m).rank_interval for m in range(4)] == [(1, 2), (1, 2), (3, 4), (3, 4)]


def test_groups_overlap_where_neighbours_blend():
    """Five examples apart are not separable, ten are."""
    scores = np.array([(np.arange(200) < right).astype(float) for right in (100, 105, 110, 115)])
    found = rank(scores, Design.random(200, 2000))
    assert found.tie_groups == ((3, 2), (2, 1), (1, 0))
    assert found.separable_neighbours == 0


def test_missing_answers_leave_each_pair_what_both_answered():
    scores = noisy(4, 80, 1.0)
    scores[0, :40] = np.nan
    found = rank(scores, Design.random(80, 800))
    assert place(found, 0).coverage == 0.5
    others = scores[1:, 40:].mean()
    assert place(found, 0).score == pytest.approx(
        scores[1:].mean() + scores[0, 40:].mean() - others, abs=0.02
    )


def test_of_two_models_the_ranking_says_what_they_differ_by_where_both_answered():
    """Case 5: B answered the 45 easy ones, .9 of them; on those A is ahead by .10, and A is first."""
    easy, all_of_it = np.arange(50) < 45, np.zeros((2, 50))
    all_of_it[0, :38] = 1
    all_of_it[1, :33] = 1
    scores = np.where(easy | (np.arange(2) == 0)[:, None], all_of_it, np.nan)
    scores[0, 38:45] = 1
    scores[0, 45:] = 0
    scores[0, :7] = 1
    scores[1, 33:41] = 1
    scores[1, 41:45] = 0
    found = rank(scores, Design.random(50, 50))
    assert np.nanmean(scores[1]) > np.nanmean(scores[0])
    assert [ranked.model for ranked in found.models] == [0, 1]
    gap = np.mean(scores[0, :45] - scores[1, :45])
    assert place(found, 0).score - place(found, 1).score == pytest.approx(gap)


def test_adjusted_means_are_the_least_squares_of_model_and_example():
    rng = np.random.default_rng(2)
    scores = rng.random((4, 30))
    scores[rng.random((4, 30)) < 0.3] = np.nan
    rows, columns = np.nonzero(~np.isnan(scores))
    table = np.hstack((np.eye(4)[rows], np.eye(30)[columns]))
    levels = np.linalg.lstsq(table, scores[rows, columns], rcond=None)[0]
    expected = levels[:4] + levels[4:].mean()
    assert adjusted_means(scores, np.full(30, 1 / 30)) == pytest.approx(expected)


def test_nothing_in_common_is_refused():
    scores = np.array([[1.0, np.nan], [np.nan, 0.0]])
    with pytest.raises(Undefined, match="models 0 and 1"):
        rank(scores, Design.random(2, 20))


def test_the_interval_from_the_best_of_two_is_the_paired_one():
    scores = noisy(2, 90, 1.5, seed=4)
    found = rank(scores, Design.random(90, 900))
    best, other = (row.model for row in found.models)
    pair = difference(PairedScores(scores[best], scores[other], Design.random(90, 900)))
    assert place(found, other).difference_from_best_interval == pytest.approx(pair.interval, abs=1e-9)


def test_equal_models_are_hardly_ever_separated():
    """Family-wise: any false separation among 8 equal models in at most 5 % of draws."""
    rng = np.random.default_rng(0)
    chance = rng.beta(2, 2, 80)
    wrong = [
        rank((rng.random((8, 80)) < chance).astype(float), Design.random(80, 800)).separable_pairs > 0
        for _ in range(250)
    ]
    assert np.mean(wrong) < 0.05 + 0.025


def test_each_confidence_of_a_family():
    assert simultaneous_confidence(0.95, 23) ** 23 == pytest.approx(0.95)
