import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from service.engine.comparison.mcnemar import mcnemar, mid_p


@pytest.mark.parametrize(
    ("b", "c", "exact", "mid"),
    [
        (0, 0, 1, 1),
        (5, 0, 0.0625, 0.03125),
        (8, 2, 0.109375, 0.0654297),
        (12, 4, 0.0768127, 0.0490417),
        (30, 15, 0.0356978, 0.0258961),
        (120, 80, 0.0056852, 0.0046601),
    ],
)
def test_golden_values(b, c, exact, mid):
    found = mcnemar(b, c)
    assert (found.exact, found.mid_p) == (pytest.approx(exact, abs=5e-8), pytest.approx(mid, abs=5e-8))
    assert mcnemar(c, b) == found


@given(st.integers(0, 400), st.integers(0, 400))
def test_they_are_binomial_tails(b, c):
    found, more = mcnemar(b, c), max(b, c)
    exact = stats.binomtest(more, b + c).pvalue if b + c else 1.0
    half = stats.binom.pmf(more, b + c, 0.5) / 2
    assert found.exact == pytest.approx(exact, rel=1e-9)
    assert found.mid_p == pytest.approx(min(1.0, 2 * (stats.binom.sf(more, b + c, 0.5) + half)), rel=1e-9)


@given(st.floats(0, 50), st.floats(0, 50))
def test_between_whole_counts_it_moves_without_jumps(b, c):
    value = mid_p(b, c)
    assert 0 < value <= 1
    assert mid_p(b + 1e-9, c) == pytest.approx(value, abs=1e-6)
