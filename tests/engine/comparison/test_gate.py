import itertools

import numpy as np
import pytest
from scipy import stats

from service.engine.comparison.gate import (
    Gate,
    GateRule,
    examples_needed,
    likely,
    normal_detectable_drop,
    normal_fail_probability,
    smallest_detectable_drop,
    verdict,
)
from service.engine.comparison.paired import score_interval


@pytest.mark.parametrize(
    ("interval", "margin", "expected"),
    [
        ((0.01, 0.05), 0.0, "pass"),
        ((-0.05, -0.01), 0.0, "fail"),
        ((-0.01, 0.01), 0.0, "inconclusive"),
        ((0.0, 0.05), 0.0, "inconclusive"),
        ((-0.019, 0.03), 0.02, "pass"),
        ((-0.06, -0.021), 0.02, "fail"),
        ((-0.06, -0.01), 0.02, "inconclusive"),
        ((-0.02, -0.02), 0.02, "pass"),
        ((0.0, 0.0), 0.0, "pass"),
        ((-0.1, -0.1), 0.02, "fail"),
    ],
)
def test_the_one_rule(interval, margin, expected):
    assert verdict(interval, GateRule(margin)) == expected


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("n", [1, 4, 13])
def test_the_thresholds_are_the_verdict_of_every_outcome(n, margin):
    rule = GateRule(margin=margin)
    gate = Gate.build(n, rule)
    for gain, loss in itertools.product(range(n + 1), repeat=2):
        told = gain + loss
        if told > n:
            continue
        found = verdict(score_interval((gain - loss) / n, told / n, n, 0.95), rule)
        counted = (
            "fail"
            if loss >= gate.fails_from[told]
            else "pass"
            if loss <= gate.passes_to[told]
            else "inconclusive"
        )
        assert counted == found, (gain, loss)


def test_probabilities_are_sums_over_every_outcome():
    n, rate, drop, rule = 20, 0.4, 0.15, GateRule(margin=0.02)
    gate = Gate.build(n, rule)
    share = [(rate - drop) / 2, (rate + drop) / 2, 1 - rate]
    fails = passes = 0.0
    for gain, loss in itertools.product(range(n + 1), repeat=2):
        if gain + loss <= n:
            found = verdict(score_interval((gain - loss) / n, (gain + loss) / n, n, 0.95), rule)
            chance = stats.multinomial.pmf([gain, loss, n - gain - loss], n, share)
            fails += chance * (found == "fail")
            passes += chance * (found == "pass")
    assert gate.fail_probability(rate, drop) == pytest.approx(fails, abs=1e-9)
    assert gate.pass_probability(rate, drop) == pytest.approx(passes, abs=1e-9)


@pytest.mark.parametrize(("margin", "slack"), [(0.0, 0.001), (0.01, 0.02), (0.05, 0.01)])
@pytest.mark.parametrize("n", [10, 30, 100, 400])
def test_false_alarms_keep_their_promise_at_every_rate_of_disagreement(n, margin, slack):
    gate = Gate.build(n, GateRule(margin=margin))
    for rate in (0.05, 0.02, 0.1, 0.3, 0.6):
        assert gate.fail_probability(rate, margin) < 0.025 + slack
        assert gate.pass_probability(rate, margin) < 0.025 + slack
        assert gate.fail_probability(rate, 0.0) < 0.026


def test_the_smallest_detectable_drop_is_found_as_often_as_promised():
    gate = Gate.build(200, GateRule(margin=0.01))
    drop = smallest_detectable_drop(gate, 0.2)
    assert gate.fail_probability(0.2, drop) == pytest.approx(0.8, abs=1e-3)
    assert drop == pytest.approx(normal_detectable_drop((0.2 / 200) ** 0.5, gate.rule), abs=0.005)


def test_a_size_that_finds_nothing_says_so():
    assert smallest_detectable_drop(Gate.build(4, GateRule()), 0.3) is None


def test_the_normal_gate_finds_its_own_drop():
    rule = GateRule(margin=0.01)
    assert normal_fail_probability(0.02, rule, normal_detectable_drop(0.02, rule)) == pytest.approx(0.8)
    assert normal_fail_probability(0.02, GateRule(), 0.0) == pytest.approx(0.025)
    assert normal_fail_probability(0.0, rule, 0.02) == 1
    assert normal_fail_probability(0.0, rule, 0.01) == 0


@pytest.mark.parametrize(
    ("rate", "delta", "margin"), [(0.3, -0.06, 0.0), (0.2, -0.08, 0.02), (0.3, 0.06, 0.0)]
)
def test_the_examples_needed_decide_as_often_as_promised(rate, delta, margin):
    rule = GateRule(margin=margin)
    gate = Gate.build(examples_needed(rate, delta, rule), rule)
    found = gate.fail_probability(rate, -delta) if delta < 0 else gate.pass_probability(rate, -delta)
    assert found == pytest.approx(0.8, abs=0.02)


def test_connors_sample_size_for_paired_proportions():
    """Connor 1987: 30 % discordant, 10 points apart, two-sided 5 %, power 80 %."""
    z_level, z_power = stats.norm.ppf([0.975, 0.8])
    expected = (z_level * 0.3**0.5 + z_power * (0.3 - 0.01) ** 0.5) ** 2 / 0.01
    assert examples_needed(0.3, -0.1, GateRule()) == int(np.ceil(expected)) == 234


def test_no_number_of_examples_decides_a_difference_at_the_margin():
    assert examples_needed(0.3, -0.02, GateRule(margin=0.02)) is None
    assert examples_needed(0.3, 0.0, GateRule()) is None


def test_a_model_with_the_same_answers_passes_a_margin_only_with_enough_examples():
    """Wilson's upper end of 0/n is below 5 points from n = 73 on."""
    rule = GateRule(margin=0.05)
    assert [bool(Gate.build(n, rule).passes_to[0] >= 0) for n in (72, 73)] == [False, True]


def test_one_gate_serves_all_candidates_of_a_size_and_cannot_be_changed():
    gate = Gate.build(50, GateRule(margin=0.02))
    assert Gate.build(50, GateRule(margin=0.02)) is gate
    assert Gate.build(50, GateRule(margin=0.03)) is not gate
    with pytest.raises(ValueError, match="read-only"):
        gate.fails_from[0] = 1


@pytest.mark.parametrize(("n", "rate"), [(1, 0.5), (30, 0.0), (30, 1.0), (400, 0.01), (5000, 0.3)])
def test_what_is_left_out_of_a_binomial_sum_has_no_weight(n, rate):
    kept = stats.binom.pmf(np.arange(n + 1)[likely(n, rate)], n, rate)
    assert kept.sum() == pytest.approx(1, abs=1e-12)
    assert n < 5000 or len(kept) < 700
