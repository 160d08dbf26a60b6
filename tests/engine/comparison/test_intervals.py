import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from service.engine.comparison.intervals import critical, finite_size, wilson, wilson_share


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(3, 3, 0.438, 1), (0, 10, 0, 0.278), (14, 307, 0.0274, 0.0751), (1, 1, 0.2065, 1), (0, 1, 0, 0.7935)],
)
def test_published_wilson_intervals(right, n, low, high):
    assert wilson(right, n) == (pytest.approx(low, abs=6e-4), pytest.approx(high, abs=6e-4))


@given(st.integers(1, 300), st.floats(0.5, 0.999), st.data())
def test_the_interval_is_scipys(n, confidence, data):
    k = data.draw(st.integers(0, n))
    theirs = stats.binomtest(k, n).proportion_ci(confidence, "wilson")
    assert wilson(k, n, confidence) == (
        pytest.approx(theirs.low, abs=1e-9),
        pytest.approx(theirs.high, abs=1e-9),
    )


@given(st.floats(0, 1), st.floats(0.5, 1e9))
def test_an_interval_contains_its_share_and_stays_in_range(share, n):
    low, high = wilson_share(share, n)
    assert 0 <= low <= share <= high <= 1
    assert low < high


def test_all_of_a_finite_set_leave_nothing_unknown():
    assert finite_size([50, 448], 448).tolist() == [50 * 447 / 398, np.inf]
    assert wilson_share(0.3, np.inf) == (0.3, 0.3)


def test_the_critical_value_is_normal_or_students():
    assert critical(0.95) == pytest.approx(1.959964, abs=1e-6)
    assert critical(0.95, 9) == pytest.approx(2.262157, abs=1e-6)
