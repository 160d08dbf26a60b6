"""Differences of two models: against scipy, brute force, published examples and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from service.engine.comparison.mcnemar import mid_p
from service.engine.comparison.paired import (
    Modelled,
    PairedScores,
    difference,
    modelled_difference,
    score_interval,
    score_statistic,
    tango,
)
from service.engine.comparison.sampling_design import Design


def pairs(baseline, candidate, total=None, **more):
    first, second = (np.asarray(scores, dtype=np.float64) for scores in (baseline, candidate))
    return PairedScores(first, second, Design.random(len(first), total or 10 * len(first)), **more)


def discordant(gain, loss, n, total=None):
    baseline, candidate = np.zeros(n), np.zeros(n)
    candidate[:gain], baseline[gain : gain + loss] = 1, 1
    return pairs(baseline, candidate, total)


def test_tangos_interval_of_the_airway_study_fagerland_2014():
    low, high = tango(1, 7, 21, 1.959964)
    assert (round(float(low), 3), round(float(high), 3)) == (-0.517, -0.026)


def test_no_discordant_example_gives_wilsons_upper_end_both_ways():
    low, high = tango(0, 0, 100, 1.959964)
    assert (-low, high) == (pytest.approx(1.959964**2 / (100 + 1.959964**2)), pytest.approx(-low))


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 60), st.integers(-9, 9))
def test_the_statistic_uses_the_likelihoods_own_maximum(gain, loss, agree, tenths):
    n, delta = gain + loss + agree, tenths / 10

    def score(q):
        return gain / (q + delta) + loss / q - 2 * agree / (1 - 2 * q - delta)

    least, most = max(0.0, -delta) + 1e-12, (1 - delta) / 2 - 1e-12
    inside = score(least) > 0 > score(most)
    q = optimize.brentq(score, least, most, xtol=1e-15) if inside else least
    expected = ((gain - loss) / n - delta) / np.sqrt((2 * q + delta - delta**2) / n)
    assert score_statistic(gain, loss, n, delta) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 200))
def test_at_zero_the_statistic_is_mcnemars(gain, loss, agree):
    z = score_statistic(gain, loss, gain + loss + agree + 1, 0.0)
    assert z == pytest.approx((gain - loss) / max(gain + loss, 1) ** 0.5, abs=1e-6)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 300), st.sampled_from([0.9, 0.95, 0.99]))
def test_interval_and_mid_p_never_disagree_and_the_interval_holds_its_point(gain, loss, agree, confidence):
    n = max(gain + loss + agree, 1)
    point = (gain - loss) / n
    low, high = score_interval(point, (gain + loss) / n, n, confidence)
    assert -1 <= low <= point + 1e-12
    assert point - 1e-12 <= high <= 1
    assert low < high
    assert (low > 0 or high < 0) == (mid_p(gain, loss) <= 1 - confidence)


def symmetric(count, seed):
    """Two models' graded scores whose differences lie evenly about .05."""
    half = np.random.default_rng(seed).uniform(0, 0.4, count // 2)
    return np.full(count, 0.5), 0.55 + np.concatenate((half, -half))


def test_graded_scores_get_scipys_paired_t():
    first, second = symmetric(60, 0)
    found = difference(pairs(first, second))
    theirs = stats.ttest_rel(second, first).confidence_interval()
    assert found.interval == (pytest.approx(theirs.low), pytest.approx(theirs.high))
    assert (found.kind, found.freedom) == ("t", 59)


def test_of_the_full_benchmark_the_t_interval_shrinks_by_the_share_left():
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 75))
    here = pairs(first, second, total=100)
    ratio = difference(here, truth="full_benchmark").standard_error / difference(here).standard_error
    assert ratio == pytest.approx(0.25**0.5)


def test_clusters_are_taken_by_their_sums():
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 2, (2, 60)).astype(float)
    clusters = np.repeat(np.arange(12), 5)
    found = difference(pairs(first, second, clusters=clusters))
    off = second - first - (second - first).mean()
    sums = np.array([off[clusters == g].sum() for g in range(12)])
    error = np.sqrt(12 / 11 * (sums**2).sum()) / 60
    half = stats.t.ppf(0.975, 11) * error
    assert found.standard_error == pytest.approx(error)
    assert found.interval[1] - found.difference == pytest.approx(half)


def test_clusters_of_one_are_no_clusters():
    first, second = symmetric(30, 3)
    alone, single = difference(pairs(first, second)), difference(pairs(first, second, clusters=np.arange(30)))
    assert single.standard_error == pytest.approx(alone.standard_error)
    assert single.interval == pytest.approx(alone.interval)


def test_copies_in_a_cluster_add_nothing():
    rng = np.random.default_rng(4)
    first, second = rng.random((2, 30))
    once = difference(pairs(first, second))
    copied = difference(
        pairs(np.repeat(first, 4), np.repeat(second, 4), clusters=np.repeat(np.arange(30), 4))
    )
    assert copied.standard_error == pytest.approx(once.standard_error)


@pytest.mark.parametrize("clusters", [None, np.zeros(20, dtype=np.int64), np.arange(20) // 4])
@pytest.mark.parametrize("answer", [0.0, 1.0, 0.5])
def test_equal_answers_leave_doubt(clusters, answer):
    same = np.full(20, answer)
    found = difference(pairs(same, same, clusters=clusters))
    assert found.standard_error > 0
    assert found.interval[0] < 0 < found.interval[1]


def test_one_example_says_almost_nothing():
    found = difference(discordant(1, 0, 1))
    assert found.interval[0] <= 0
    assert found.interval[1] == pytest.approx(1)


def test_the_whole_benchmark_leaves_no_doubt_about_itself():
    found = difference(discordant(5, 3, 50, total=50), truth="full_benchmark")
    assert (found.interval, found.standard_error, found.kind) == ((0.04, 0.04), 0.0, "exact")


def test_noise_of_runs_stays_when_every_example_is_answered():
    scores = np.linspace(0, 1, 40)
    here = pairs(scores, scores[::-1].copy(), total=40, noise=np.full(40, 0.1))
    assert difference(here, truth="full_benchmark").standard_error == pytest.approx((0.1 / 40) ** 0.5)


def test_stratified_differences_have_the_textbook_variance():
    rng = np.random.default_rng(5)
    strata = np.repeat([0, 1, 2], [30, 20, 10])
    first, second = rng.random((2, 60))
    design = Design.stratified(strata, np.array([100, 300, 50]))
    found = difference(PairedScores(first, second, design), truth="full_benchmark")
    d = second - first
    expected = sum(
        (size / 450) ** 2 * (1 - n / size) * d[strata == h].var(ddof=1) / n
        for h, (n, size) in enumerate([(30, 100), (20, 300), (10, 50)])
    )
    assert found.standard_error**2 == pytest.approx(expected)
    assert found.difference == pytest.approx(
        sum(w / 450 * d[strata == h].mean() for h, w in enumerate([100, 300, 50]))
    )


def test_one_stratum_is_a_random_sample():
    rng = np.random.default_rng(6)
    first, second = rng.integers(0, 2, (2, 40)).astype(float)
    one = Design.stratified(np.zeros(40, dtype=int), np.array([200]))
    assert difference(PairedScores(first, second, one)) == difference(pairs(first, second, total=200))


def test_a_models_error_gets_the_full_benchmarks_own_noise_on_top():
    here = discordant(10, 10, 100, total=400)
    modelled = Modelled(0.5, 0.51, 0.03, run_variance=0.0004)
    realised = modelled_difference(here, modelled, 0.95, "full_benchmark")
    themselves = modelled_difference(here, modelled, 0.95, "population")
    assert realised.standard_error == pytest.approx((0.03**2 + 0.0004) ** 0.5)
    assert themselves.standard_error**2 == pytest.approx(0.03**2 + 0.2 / 400)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40),
    st.sampled_from(["population", "full_benchmark"]),
    st.integers(0, 20),
)
def test_every_interval_holds_its_point_and_swapping_mirrors_it(scores, truth, more):
    first, second = np.array(scores).T
    total = len(first) + more
    found = difference(pairs(first, second, total=total), truth=truth)
    back = difference(pairs(second, first, total=total), truth=truth)
    assert found.interval[0] <= found.difference + 1e-9
    assert found.interval[1] >= found.difference - 1e-9
    assert back.interval == pytest.approx((-found.interval[1], -found.interval[0]), abs=1e-9)


def test_coverage_by_enumeration_is_near_nominal():
    """Every outcome of n = 30, weighted by its probability: Tango with mid-p's widening."""
    n, rate, delta = 30, 0.3, -0.1
    gain_rate, loss_rate = (rate + delta) / 2, (rate - delta) / 2
    covered = total = 0.0
    for gain in range(n + 1):
        for loss in range(n + 1 - gain):
            chance = stats.multinomial.pmf([gain, loss, n - gain - loss], n, [gain_rate, loss_rate, 1 - rate])
            if chance < 1e-7:
                continue
            low, high = score_interval((gain - loss) / n, (gain + loss) / n, n, 0.95)
            covered, total = covered + chance * (low <= delta <= high), total + chance
    assert 0.945 <= covered / total <= 0.975


@pytest.mark.parametrize("shift", [0.1, 0.25])
def test_differences_that_are_all_alike_do_not_make_a_point_of_the_interval(shift):
    """0.6 − 0.5 leaves a variance of rounding errors, 0.75 − 0.5 none."""
    baseline = np.full(200, 0.5)
    found = difference(PairedScores(baseline, baseline + shift, Design.random(200, 1000)))
    assert found.kind == "score"
    assert found.interval[0] < shift - 0.005 < shift + 0.005 < found.interval[1]
    assert found.size < 10_000


def test_a_single_cluster_has_a_standard_error():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, (2, 50)).astype(float)
    found = difference(PairedScores(first, second, Design.random(50, 500), np.zeros(50, dtype=np.int64)))
    assert found.standard_error > 0.1


def test_rare_graded_drops_are_covered_on_both_sides():
    """90 % equal, 10 % down by up to 1: the t interval covers .919 of 95 % and misses on one side."""
    rng, missed = np.random.default_rng(0), np.zeros(2)
    for _ in range(1500):
        drops = rng.random(200) * (rng.random(200) < 0.1)
        low, high = difference(pairs(np.ones(200), 1 - drops, total=10**7)).interval
        missed += [low > -0.05, high < -0.05]
    assert (missed / 1500 < 0.025 + 3 * (0.025 * 0.975 / 1500) ** 0.5).all()


@pytest.mark.parametrize(("clusters", "vary"), [(3, False), (3, True), (8, True), (20, True)])
@pytest.mark.parametrize("strong", [0.3, 4.0])
def test_few_clusters_with_a_strong_effect_are_covered(clusters, vary, strong):
    rng, held = np.random.default_rng(1), 0
    for _ in range(600):
        sizes = rng.geometric(0.05, clusters) + 1 if vary else np.full(clusters, 20)
        member = np.repeat(np.arange(clusters), sizes)
        chance = 1 / (1 + np.exp(-rng.normal(0, strong, clusters)[member]))
        first, second = rng.random(len(member)) < 0.5, rng.random(len(member)) < chance
        low, high = difference(pairs(first, second, total=10**7, clusters=member)).interval
        held += low <= 0 <= high
    assert held / 600 > 0.95 - 2.5 * (0.95 * 0.05 / 600) ** 0.5


def test_without_each_cluster_in_turn_is_the_jackknife():
    rng = np.random.default_rng(5)
    member, (first, second) = np.repeat(np.arange(12), np.arange(3, 15)), rng.random((2, 102))
    left = np.array([(second - first)[member != group].mean() for group in range(12)])
    expected = (11 / 12 * ((left - (second - first).mean()) ** 2).sum()) ** 0.5
    assert difference(pairs(first, second, clusters=member)).standard_error == pytest.approx(expected)


def test_known_run_noise_widens_what_is_said_of_new_runs():
    here = discordant(10, 10, 100, total=400)
    noisy = PairedScores(here.baseline, here.candidate, here.design, noise=np.full(100, 0.1))
    these, new = difference(here, truth="full_benchmark"), difference(noisy, truth="runs")
    assert new.standard_error**2 - these.standard_error**2 == pytest.approx(0.25 * 0.1 / 100)
    assert new.interval[0] < these.interval[0] < these.interval[1] < new.interval[1]
