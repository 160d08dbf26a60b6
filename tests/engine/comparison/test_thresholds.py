import math

import numpy as np
import pytest
from scipy import stats

from service.engine.comparison.thresholds import history, suggest_threshold, threshold_rates


def test_rates_are_binomial_sums():
    found = threshold_rates(0.7, 50, 0.8, 0.6)
    assert found.false_fail == pytest.approx(
        sum(math.comb(50, k) * 0.8**k * 0.2 ** (50 - k) for k in range(35))
    )
    assert found.miss == pytest.approx(stats.binom.sf(34, 50, 0.6))
    assert found.run_deviation == pytest.approx((0.8 * 0.2 / 50) ** 0.5)


def test_a_threshold_on_the_grid_passes_its_own_score():
    """0.29 · 100 is 28.999… in floating point; 29 right of 100 must pass."""
    assert threshold_rates(0.29, 100, 0.5).false_fail == pytest.approx(stats.binom.cdf(28, 100, 0.5))


def test_the_suggested_threshold_is_the_highest_that_keeps_the_rate():
    found = suggest_threshold(200, 0.75, 0.01)
    assert threshold_rates(found, 200, 0.75).false_fail <= 0.01
    assert threshold_rates(found + 1 / 200, 200, 0.75).false_fail > 0.01
    assert threshold_rates(0.0, 10, 0.5).false_fail == 0


def test_earlier_runs_suggest_a_limit_the_next_run_keeps():
    rng = np.random.default_rng(0)
    below = []
    for _ in range(4000):
        runs = rng.normal(0.85, 0.01, 21)
        below.append(runs[20] < history(runs[:20].tolist(), 0.85, 0.05).suggested)
    assert np.mean(below) == pytest.approx(0.05, abs=0.012)
