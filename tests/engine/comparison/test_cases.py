"""What users of evaluation tools hit: one test a row of the case list, C (uncertainty) and D (gates).

The names carry the row. The numbers are those of the public issues the rows come from.
"""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from service.engine.comparison import (
    Design,
    Gate,
    GateRule,
    Setting,
    compare,
    history,
    near_margin,
    power,
    rank,
    suggest_threshold,
    threshold_rates,
)
from service.engine.comparison.gate import smallest_detectable_drop, verdict
from service.engine.comparison.intervals import wilson
from service.engine.comparison.mcnemar import mcnemar
from service.engine.comparison.repeats import repeated
from service.engine.comparison.score_estimates import design_score
from service.engine.data.attempt_scores import pass_at_k


def counts(b, c, n, total=None, rule=None, **more):
    """Compare two models of which only the baseline is right on b, only the candidate on c of n."""
    baseline, candidate = np.zeros(n), np.zeros(n)
    baseline[:b], candidate[b : b + c] = 1, 1
    return compare(baseline, candidate, Design.random(n, total or n), rule or GateRule(), Setting(**more))


def test_c1_paired_by_default():
    """220 items, 12 points apart: unpaired z is not significant, paired it is."""
    b, c, both = 40, 66, 60
    baseline, candidate = np.zeros(220), np.zeros(220)
    baseline[:both] = candidate[:both] = 1
    baseline[both : both + b] = candidate[both + b : both + b + c] = 1
    first, second = baseline.mean(), candidate.mean()
    middle = (first + second) / 2
    unpaired = 2 * stats.norm.sf((second - first) / np.sqrt(middle * (1 - middle) * 2 / 220))
    found = compare(baseline, candidate, Design.random(220, 220), GateRule())
    assert found.mcnemar.mid_p < 0.02
    assert found.verdict == "pass"
    assert found.mcnemar.mid_p < unpaired


def test_c2_exact_and_mid_p_are_both_reported_and_mid_p_decides():
    found = counts(4, 12, 100)
    assert found.mcnemar.exact == pytest.approx(0.0768, abs=1e-4)
    assert found.mcnemar.mid_p == pytest.approx(0.0490, abs=1e-4)
    assert found.verdict == "pass"


def test_c2_type_one_error_of_exact_and_mid_p():
    """Unconditional level at 100 items, 20 % discordant: exact .036 or less, mid-p near .05."""
    tosses = np.arange(101)
    chance = stats.binom.pmf(tosses, 100, 0.2)
    level = {"exact": 0.0, "mid_p": 0.0}
    for d in tosses[chance > 1e-9]:
        for k in range(d + 1):
            p = mcnemar(k, int(d) - k)
            for name in level:
                level[name] += chance[d] * stats.binom.pmf(k, d, 0.5) * (getattr(p, name) <= 0.05)
    assert level["exact"] < 0.036
    assert 0.04 < level["mid_p"] < 0.052


def test_c3_not_significant_is_not_equivalent():
    found = counts(3, 3, 40, rule=GateRule(margin=0.02))
    assert found.mcnemar.exact == 1
    assert found.verdict == "inconclusive"
    assert not found.equivalence.equivalent
    assert (found.flips.lost, found.flips.won) == ((0, 1, 2), (3, 4, 5))


def test_c4_identical_predictions():
    found = counts(0, 0, 50)
    assert (found.mcnemar.exact, found.mcnemar.mid_p, found.difference) == (1, 1, 0)
    assert "No example tells the two apart" in found.warnings[0]


def test_c5_and_c9_an_error_of_zero_only_where_nothing_is_unknown():
    assert wilson(14, 307) == (pytest.approx(0.0274, abs=5e-5), pytest.approx(0.0751, abs=5e-5))
    row = np.repeat([1.0, 0.0], [14, 293])
    assert design_score(row, Design.random(307, 10**9), 0.95)[2] == pytest.approx(0.011926, rel=0.03)
    for scores in (np.zeros(3), np.ones(3), np.full(3, 0.5)):
        assert counts(0, 0, 3).standard_error > 0
        assert design_score(scores, Design.random(3, 30), 0.95)[2] > 0
    one_cluster = compare(
        np.ones(5), np.ones(5), Design.random(5, 50), GateRule(), Setting(clusters=["a"] * 5)
    )
    assert one_cluster.standard_error > 0
    assert wilson(3, 3) == (pytest.approx(0.438, abs=6e-4), 1)


def test_c6_the_error_of_the_mean_that_is_shown():
    """An unweighted mean of groups has the groups' variances with equal weights, not size weights."""
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], [200, 50, 10])
    first, second = rng.random((2, 260))
    macro = Design.stratified(groups, np.array([2000, 500, 100]), np.full(3, 1 / 3))
    found = compare(first, second, macro, GateRule())
    d = [(second - first)[groups == h] for h in range(3)]
    assert found.difference == pytest.approx(np.mean([part.mean() for part in d]))
    assert found.standard_error == pytest.approx(np.sqrt(sum(part.var(ddof=1) / len(part) for part in d)) / 3)


def test_c7_a_group_without_an_error_of_its_own_borrows_one():
    groups = np.array([0, 0, 0, 0, 1])
    found = design_score(np.array([1.0, 0, 1, 1, 0]), Design.stratified(groups, np.array([40, 10])), 0.95)
    assert found[2] > 0
    single = design_score(np.array([1.0, 0.0]), Design.stratified(np.array([0, 1]), np.array([5, 5])), 0.95)
    assert single[1][0] < 0.2 < 0.8 < single[1][1]


def test_c8_one_example_is_no_nan():
    assert [float(end) for end in wilson(1, 1)] == pytest.approx([0.2065, 1], abs=5e-5)
    assert [float(end) for end in wilson(0, 1)] == pytest.approx([0, 0.7935], abs=5e-5)
    found = dataclasses.astuple(counts(0, 1, 1, total=10))
    assert not any(isinstance(value, float) and np.isnan(value) for value in found)


def test_c10_clusters_show_both_errors_and_their_count():
    rng = np.random.default_rng(0)
    passage = np.repeat(rng.integers(-1, 2, 20), 10)
    baseline, candidate = (passage < 0).astype(float), (passage > 0).astype(float)
    names = [f"p{i // 10}" for i in range(200)]
    found = compare(baseline, candidate, Design.random(200, 2000), GateRule(), Setting(clusters=names))
    assert found.clusters.count == 20
    assert found.standard_error == pytest.approx(
        found.clusters.standard_error_ignoring_them * 10**0.5 * (19.9 / 19) ** 0.5, rel=1e-3
    )


def test_c11_runs_are_not_examples():
    """30 items × 10 runs: the interval is that of 30 examples, not of 300."""
    rng = np.random.default_rng(1)
    chance = rng.beta(0.5, 0.5, 30)
    first, second = ((rng.random((30, 10)) < chance[:, None]).astype(float) for _ in range(2))
    many = compare(first, second, Design.random(30, 30), GateRule())
    d = second.mean(axis=1) - first.mean(axis=1)
    assert many.n_common == 30
    assert many.standard_error == pytest.approx(d.std(ddof=1) / 30**0.5)
    shifted = first + 0
    shifted[:15] = 1 - first[:15]
    pooled = np.sqrt((shifted - first).var() / 300)
    assert compare(first, shifted, Design.random(30, 30), GateRule()).standard_error > 2 * pooled


def test_c12_every_repeat_counts():
    runs = np.array([[1.0, 0, 0, 0, 0, 0, 0, 0]] * 20)
    found = compare(runs, np.zeros(20), Design.random(20, 200), GateRule())
    assert found.baseline_score == pytest.approx(1 / 8)
    assert found.repeats.baseline.runs == 8


def test_c13_and_c14_pass_at_k_is_over_k_of_the_runs():
    """That it needs k runs, `tests/engine/data/test_attempt_scores.py` checks."""
    assert pass_at_k(np.array([1]), np.array([1]), 1) == pytest.approx([1])
    assert pass_at_k(np.array([4]), np.array([1]), 2) == pytest.approx([0.5])


def test_c15_tied_scores_share_the_win():
    found = rank(np.ones((3, 10)), Design.random(10, 100))
    assert [row.win_rate for row in found.models] == [0.5, 0.5, 0.5]
    assert [row.rank for row in found.models] == [1, 1, 1]


def test_c17_and_c18_neighbours_that_cannot_be_separated_are_one_group():
    rng = np.random.default_rng(0)
    chance = rng.random(500)
    scores = (rng.random((90, 500)) < chance).astype(float)
    found = rank(scores, Design.random(500, 5000))
    assert found.separable_neighbours == 0
    assert max(map(len, found.tie_groups)) > 80
    assert all(row.rank_interval[0] < row.rank_interval[1] for row in found.models)


def test_c19_the_best_of_a_family_is_corrected():
    assert rank(np.eye(23), Design.random(23, 230)).family == 253


def test_c21_the_interval_belongs_to_the_statistic():
    """Property tests of every interval are beside each; here the case: .819 is inside its own."""
    row = np.repeat([1.0, 0.0], [819, 181])
    score, (low, high), _ = design_score(row, Design.random(1000, 10_000), 0.95)
    assert low < score < high


def test_c22_and_c23_constant_vectors_have_no_correlation_and_no_harm():
    found = rank(np.zeros((4, 20)), Design.random(20, 200))
    assert found.separable_pairs == 0
    assert found.tie_groups == ((0, 1, 2, 3),)


def test_d1_a_hundred_items_and_five_points_cannot_judge():
    """A true loss of under 2 points read as 8 on 100 items is inconclusive, and the size says why."""
    found = counts(14, 6, 100, total=1319, rule=GateRule(margin=0.05))
    assert found.verdict == "inconclusive"
    assert found.gate.smallest_detectable_drop > 0.15
    assert found.gate.false_alarm_rate < 0.005
    assert found.gate.examples_needed > 1000
    healthy = Gate.build(100, GateRule(margin=0.05))
    assert healthy.fail_probability(0.2, 0.018) < 18 / 218 / 8


def test_d2_pairs_near_the_margin_are_counted():
    """No variant between 5 and 61 points: nothing validates a gate at 5."""
    found = near_margin(np.array([0.80, 0.79, 0.75, 0.14]), 0.05, 0.01)
    assert found.near == 2
    assert found.closest_above == pytest.approx(0.61)


def test_d4_five_trials_pass_only_without_a_tie_and_four_never():
    gate = Gate.build(5, GateRule())
    passing = [
        (d - losses, losses) for d in range(6) for losses in range(d + 1) if losses <= gate.passes_to[d]
    ]
    assert passing == [(5, 0)]
    found = counts(0, 4, 4)
    assert not found.gate.can_pass
    assert "neither pass nor fail" in found.warnings[-1]
    assert mcnemar(0, 5).exact == pytest.approx(0.0625)


def test_d5_three_wins_of_unequal_size_are_not_judged_by_t():
    found = compare(np.array([0.0, 0.3, 0.5]), np.array([1.0, 0.4, 0.6]), Design.random(3, 30), GateRule())
    assert found.interval_method == "score"
    assert found.verdict == "inconclusive"
    assert not found.gate.can_pass


def test_d6_the_detectable_drop_follows_the_size():
    drops = [smallest_detectable_drop(Gate.build(n, GateRule()), 0.3) for n in (50, 200, 1000)]
    assert drops == pytest.approx([2.8 * (0.3 / n) ** 0.5 for n in (50, 200, 1000)], rel=0.07)


def test_d7_a_threshold_of_70_with_a_mean_of_74_on_198_items():
    assert threshold_rates(0.70, 198, 0.74).false_fail == pytest.approx(0.098, abs=5e-4)
    assert suggest_threshold(198, 0.74, 0.01) == pytest.approx(132 / 198)


def test_d8_earlier_runs_tell_the_false_fails_and_a_better_threshold():
    """61 identical runs, sd .009: 20 % fail at > .85."""
    quantiles = stats.norm.ppf((np.arange(61) + 0.5) / 61)
    runs = 0.85 + 0.009 * (quantiles + stats.norm.ppf(0.8))
    found = history(runs.tolist(), 0.85)
    assert found.false_fail == pytest.approx(0.2, abs=0.01)
    assert found.deviation == pytest.approx(0.009, rel=0.03)
    assert found.false_fail_interval[0] < 0.2 < found.false_fail_interval[1]
    assert found.suggested == pytest.approx(0.8576 - 2.39 * 0.009 * 1.008, abs=5e-4)


def test_d9_repeats_show_what_fails_every_time_and_what_was_cached():
    runs = repeated(np.array([[1.0, 1, 1], [0, 0, 0], [1, 0, 1]])).summary
    assert (runs.always_right, runs.always_wrong, runs.mixed, runs.identical) == (1, 1, 1, False)
    cached = np.array([[1.0, 1], [0, 0], [1, 1]])
    found = compare(cached, cached, Design.random(3, 30), GateRule())
    assert found.repeats.baseline.identical
    assert sum("greedy decoding or a cache" in text for text in found.warnings) == 2


def test_d10_one_verdict_rule_around_the_threshold():
    """.62, .58, .61 around .6: the same interval always gives the same verdict."""
    assert [verdict((mean - 0.6 - 0.03, mean - 0.6 + 0.03), GateRule()) for mean in (0.62, 0.58, 0.61)] == [
        "inconclusive"
    ] * 3


def test_d11_four_trials_come_with_their_power():
    found = counts(0, 1, 4)
    assert found.difference == 0.25
    assert found.verdict == "inconclusive"
    assert found.gate.smallest_detectable_drop is None
    assert "No outcome of 4 examples" in found.reason
    assert not power(0.3, 0.25, [4], rule=GateRule()).by_size[0].can_fail
