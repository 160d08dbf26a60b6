import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from service.engine.comparison.gate import EXACT_UP_TO, GateRule
from service.engine.comparison.power import (
    examples_to_order,
    group_disagreement,
    mdad,
    measured_size,
    near_margin,
    order_agreement,
    power,
)
from service.engine.measures.random_agreement import random_agreement


@pytest.mark.parametrize(("total", "better", "worse", "n", "agree", "tie"), [
    (100, 12, 8, 25, 0.6006926514, 0.1801392451),
    (1000, 120, 80, 100, 0.7965400141, 0.0606113105),
])  # fmt: skip
def test_order_on_a_benchmark_is_the_hypergeometric_golden_value(total, better, worse, n, agree, tie):
    found = order_agreement((better + worse) / total, (better - worse) / total, n, total)
    assert found == pytest.approx(agree + tie / 2, abs=1e-9)


def test_order_from_an_unlimited_supply_is_the_trinomial_sum():
    n, gain, loss = 9, 0.25, 0.15
    expected = 0.0
    for x, y in itertools.product(range(n + 1), repeat=2):
        if x + y <= n:
            ways = math.comb(n, x) * math.comb(n - x, y)
            chance = ways * gain**x * loss**y * (1 - gain - loss) ** (n - x - y)
            expected += chance * (1.0 if x > y else 0.5 if x == y else 0.0)
    assert order_agreement(0.4, 0.1, n) == pytest.approx(expected)


@pytest.mark.parametrize(("disagreement", "difference"), [(0.3, 0.05), (0.2, 0.03), (0.4, 0.1)])
def test_the_rule_of_thumb_for_80_percent(disagreement, difference):
    assert examples_to_order(disagreement, difference, 0.8) == pytest.approx(
        0.71 * disagreement / difference**2, rel=0.05
    )


def test_the_normal_approximation_takes_over_where_examples_are_many():
    z = special.ndtri(0.8)
    assert examples_to_order(0.3, 0.002, 0.8) == math.ceil(z**2 * (0.3 - 0.002**2) / 0.002**2)


def test_10_examples_and_30_percent_disagreement_give_14_and_a_half_points():
    assert mdad(0.3, 10, 0.8) == pytest.approx(0.145, abs=1e-3)


@pytest.mark.parametrize("total", [None, 10_000_000])
def test_a_million_examples_are_answered_closely_and_without_a_table_of_them(total):
    """z · √(D / n), with the finite-population correction of a tenth drawn."""
    left = 1 if total is None else 0.9
    expected = special.ndtri(0.8) * (0.2 * left / 1e6) ** 0.5
    assert mdad(0.2, 10**6, 0.8, total) == pytest.approx(expected, rel=0.02)


def test_where_many_examples_differ_the_normal_order_is_the_exact_one():
    exact = random_agreement(20_000, np.array([2550]), np.array([2450]), np.array([6000])).half_credit[0, 0]
    assert order_agreement(0.25, 0.005, 6000, 20_000) == pytest.approx(exact, abs=2e-4)
    told, share = np.arange(6001), (1 + 0.005 / 0.25) / 2
    lead = (
        stats.binom.sf(told // 2, told, share) + (told % 2 == 0) * stats.binom.pmf(told / 2, told, share) / 2
    )
    exact = stats.binom.pmf(told, 6000, 0.25) @ lead
    assert order_agreement(0.25, 0.005, 6000) == pytest.approx(exact, abs=2e-4)


@pytest.mark.parametrize("total", [2, 7, 300])
def test_models_that_disagree_on_every_example_are_ordered_at_any_gap(total):
    found = [order_agreement(1.0, gap / total, total, total) for gap in range(1, total + 1)]
    assert found == pytest.approx(np.ones(total))


def test_the_needed_examples_are_the_fewest():
    n = examples_to_order(0.3, 0.05, 0.8, 448)
    assert order_agreement(0.3, 0.05, n, 448) >= 0.8 > order_agreement(0.3, 0.05, n - 1, 448)


def test_a_difference_of_less_than_an_example_has_no_order():
    assert examples_to_order(0.3, 0.001, 0.8, 448) is None


def test_all_examples_order_any_difference():
    assert mdad(0.3, 448, 0.8, 448) == pytest.approx(1 / 448)
    assert mdad(0.3, 1, 0.8) == pytest.approx(0.6, abs=1e-3)


def test_one_answer_in_full():
    found = power(0.3, 0.05, [4, 25, 100], rule=GateRule(), total=448)
    assert [row.can_fail for row in found.by_size] == [False, True, True]
    assert found.by_size[0].smallest_detectable_drop is None
    assert found.by_size[2].mdad < found.by_size[1].mdad
    assert found.by_size[2].smallest_detectable_drop > found.by_size[2].mdad
    assert found.examples_to_decide == pytest.approx(7.85 * 0.3 / 0.0025, rel=0.01)
    assert found.examples_to_order < found.examples_to_decide


def test_sizes_beyond_enumeration_are_approximated_without_a_jump():
    near, far = power(0.3, 0.01, [EXACT_UP_TO, EXACT_UP_TO + 1], rule=GateRule()).by_size
    assert far.smallest_detectable_drop == pytest.approx(near.smallest_detectable_drop, rel=0.01)
    assert far.false_alarm_rate == pytest.approx(near.false_alarm_rate, abs=1e-3)


def test_disagreement_of_a_group_by_hand():
    scores = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1]])
    found = group_disagreement(scores)
    assert (found.pairs, found.median) == (3, 0.75)
    assert (found.lower_quartile, found.upper_quartile) == (0.5, 0.875)


def test_graded_scores_enter_by_their_squared_differences():
    scores = np.array([[0.5, 0.5], [1.0, 0.0]])
    assert group_disagreement(scores).median == pytest.approx(0.25)


def test_the_measured_size_is_the_first_from_which_on_the_difference_is_kept():
    assert measured_size([10, 25, 50, 100], [0.05, 0.02, 0.03, 0.01], 0.02) == 100
    assert measured_size([10, 25, 50, 100], [0.05, 0.03, 0.02, 0.01], 0.02) == 50
    assert measured_size([10, 25], [None, 0.03], 0.02) is None


def test_pairs_near_a_margin_are_counted():
    found = near_margin(np.array([0.50, 0.52, 0.58]), 0.05, 0.02)
    assert (found.pairs, found.near) == (3, 1)
    assert (found.closest_below, found.closest_above) == (pytest.approx(0.02), pytest.approx(0.06))
    assert near_margin(np.array([0.5, 0.5]), 0.05, 0.02).closest_above is None
