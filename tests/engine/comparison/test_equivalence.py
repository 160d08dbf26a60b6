import numpy as np
import pytest
from scipy import stats

from service.engine.comparison.equivalence import equivalence
from service.engine.comparison.paired import PairedScores, difference, score_statistic, tango
from service.engine.comparison.sampling_design import Design


def graded(seed=0, n=80):
    first, second = np.random.default_rng(seed).random((2, n))
    return PairedScores(first, second, Design.random(n, 10 * n))


def discordant(gain, loss, n):
    baseline, candidate = np.zeros(n), np.zeros(n)
    candidate[:gain], baseline[gain : gain + loss] = 1, 1
    return PairedScores(baseline, candidate, Design.random(n, 10 * n))


def test_graded_scores_are_tested_by_two_one_sided_t():
    here = graded()
    found = equivalence(difference(here), here.movement, 0.15)
    d = here.differences
    assert found.p_not_worse == pytest.approx(stats.ttest_1samp(d, -0.15, alternative="greater").pvalue)
    assert found.p_not_better == pytest.approx(stats.ttest_1samp(d, 0.15, alternative="less").pvalue)
    assert found.p == max(found.p_not_worse, found.p_not_better)


def test_binary_scores_are_tested_by_tangos_statistic():
    here = discordant(12, 10, 400)
    found = equivalence(difference(here), here.movement, 0.05)
    assert found.p_not_worse == pytest.approx(stats.norm.sf(score_statistic(12, 10, 400, -0.05)))
    assert found.equivalent


@pytest.mark.parametrize(
    ("gain", "loss", "n", "margin"), [(12, 10, 400, 0.03), (40, 38, 300, 0.05), (3, 9, 200, 0.06)]
)
def test_equivalent_is_the_90_percent_interval_within_the_margin(gain, loss, n, margin):
    here = discordant(gain, loss, n)
    low, high = tango(gain, loss, n, stats.norm.ppf(0.95))
    assert equivalence(difference(here), here.movement, margin).equivalent == (
        -margin < low and high < margin
    )


def test_equal_answers_on_a_few_examples_are_not_equivalence():
    here = discordant(0, 0, 20)
    assert not equivalence(difference(here), here.movement, 0.02).equivalent


def test_a_known_difference_is_within_the_margin_or_not():
    here = discordant(3, 1, 40)
    whole = PairedScores(here.baseline, here.candidate, Design.random(40, 40))
    known = difference(whole, truth="full_benchmark")
    assert equivalence(known, whole.movement, 0.06).equivalent
    assert not equivalence(known, whole.movement, 0.04).equivalent
