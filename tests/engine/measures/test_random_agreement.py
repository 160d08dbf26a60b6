"""Exact agreement: published values, brute force, scipy, and the laws it must obey."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from service.engine.measures.random_agreement import random_agreement
from service.engine.measures.stratified_agreement import lattice, lead_distribution, strata_agreement

# N, b, c, n, P(agree), P(tie)
GOLDEN = [
    (10, 3, 1, 4, 0.6190476190, 0.2857142857),
    (20, 5, 2, 5, 0.5882997936, 0.2758642931),
    (100, 12, 8, 25, 0.6006926514, 0.1801392451),
    (1000, 120, 80, 100, 0.7965400141, 0.0606113105),
    (12032, 1500, 1200, 250, 0.780898401, 0.037859356),
]


def one(n_examples: int, b: int, c: int, n: int) -> tuple[float, float]:
    outcome = random_agreement(n_examples, np.array([b]), np.array([c]), np.array([n]))
    return float(outcome.agree[0, 0]), float(outcome.tie[0, 0])


@st.composite
def pair(draw: st.DrawFn, most: int = 60) -> tuple[int, int, int, int]:
    n_examples = draw(st.integers(1, most))
    discordant = draw(st.integers(0, n_examples))
    b = draw(st.integers(0, discordant))
    return n_examples, b, discordant - b, draw(st.integers(1, n_examples))


@pytest.mark.parametrize(("n_examples", "b", "c", "n", "agree", "tie"), GOLDEN)
def test_known_values(n_examples: int, b: int, c: int, n: int, agree: float, tie: float) -> None:
    assert one(n_examples, b, c, n) == pytest.approx((agree, tie), abs=1e-9)


def test_every_subset_of_a_small_benchmark() -> None:
    for n_examples, b, c in [(7, 3, 2), (6, 0, 4), (8, 4, 4), (5, 1, 0)]:
        lead = np.array([1] * b + [-1] * c + [0] * (n_examples - b - c))
        for n in range(1, n_examples + 1):
            sums = np.array([lead[list(chosen)].sum() for chosen in combinations(range(n_examples), n)])
            assert one(n_examples, b, c, n) == pytest.approx(
                ((sums > 0).mean(), (sums == 0).mean()), abs=1e-12
            )


@given(pair(most=400).filter(lambda case: case[1] + case[2] > 0))
def test_the_defining_sum_by_scipy(case: tuple[int, int, int, int]) -> None:
    n_examples, b, c, n = case
    drawn = np.arange(min(n, b + c) + 1)
    chance = stats.hypergeom.pmf(drawn, n_examples, b + c, n)
    lead = [stats.hypergeom.sf(d // 2, b + c, b, d) for d in drawn]
    tie = [stats.hypergeom.pmf(d // 2, b + c, b, d) if d % 2 == 0 else 0 for d in drawn]
    assert one(*case) == pytest.approx((chance @ lead, chance @ tie), abs=1e-9)


@given(pair())
def test_the_full_benchmark_decides(case: tuple[int, int, int, int]) -> None:
    n_examples, b, c, _ = case
    assert one(n_examples, b, c, n_examples) == pytest.approx((float(b > c), float(b == c)), abs=1e-9)


@given(pair())
def test_swapping_the_models_swaps_agree_and_wrong(case: tuple[int, int, int, int]) -> None:
    n_examples, b, c, n = case
    agree, tie = one(n_examples, b, c, n)
    swapped, tie_again = one(n_examples, c, b, n)
    assert (swapped, tie_again) == pytest.approx((1 - agree - tie, tie), abs=1e-9)


@given(pair())
def test_one_example_decides_by_its_share(case: tuple[int, int, int, int]) -> None:
    n_examples, b, c, _ = case
    assert one(n_examples, b, c, 1) == pytest.approx((b / n_examples, 1 - (b + c) / n_examples), abs=1e-9)


@given(pair())
def test_more_examples_never_hurt(case: tuple[int, int, int, int]) -> None:
    n_examples, b, c, _ = case
    b, c = max(b, c), min(b, c)
    sizes = np.arange(1, n_examples + 1)
    half = random_agreement(n_examples, np.array([b]), np.array([c]), sizes).half_credit[0]
    assert (np.diff(half) >= -1e-12).all()


@given(pair(most=300))
def test_probabilities(case: tuple[int, int, int, int]) -> None:
    agree, tie = one(*case)
    assert agree >= -1e-12
    assert tie >= -1e-12
    assert agree + tie <= 1 + 1e-12


def test_normal_approximation_is_near_half_credit_at_25() -> None:
    n_examples, n = 1000, np.array([25])
    b, c = (side.ravel() for side in np.meshgrid(np.arange(60, 300, 20), np.arange(20, 200, 20)))
    kept = (b > c) & (b + c >= 200)
    b, c = b[kept], c[kept]
    gap, apart = (b - c) / n_examples, (b + c) / n_examples
    spread = np.sqrt((apart - gap**2) / n * (n_examples - n) / (n_examples - 1))
    half = random_agreement(n_examples, b, c, n).half_credit[:, 0]
    assert np.abs(half - stats.norm.cdf(gap / spread)).max() < 0.006


def test_cutting_into_batches_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    b, c = rng.integers(0, 200, size=(2, 500))
    sizes = np.array([1, 10, 100, 1000])
    whole, cut = (random_agreement(1000, b, c, sizes, batch=batch) for batch in (10**9, 1000))
    np.testing.assert_allclose(whole.agree, cut.agree, rtol=0, atol=1e-15)
    np.testing.assert_allclose(whole.tie, cut.tie, rtol=0, atol=1e-15)


def test_strata_known_value() -> None:
    outcome = strata_agreement(np.array([60, 40]), np.array([6, 4]), np.array([[10, 4]]), np.array([[4, 6]]))
    assert outcome.agree[0, 0] == pytest.approx(0.4694656754, abs=1e-9)
    assert outcome.tie[0, 0] == pytest.approx(0.2646785072, abs=1e-9)


def test_every_stratified_subset_of_a_small_benchmark() -> None:
    sizes, draws = np.array([4, 3, 5]), np.array([2, 1, 1])
    b, c = np.array([[2, 1, 1], [0, 2, 3]]), np.array([[1, 1, 2], [2, 0, 1]])
    outcome = strata_agreement(sizes, draws, b, c)
    for at in range(2):
        pools = [
            [sum(chosen) for chosen in combinations([1] * x + [-1] * y + [0] * (n - x - y), k)]
            for n, k, x, y in zip(sizes, draws, b[at], c[at], strict=True)
        ]
        sums = np.array([np.dot(sizes / draws, leads) for leads in product(*pools)])
        assert outcome.agree[at, 0] == pytest.approx((sums > 1e-9).mean(), abs=1e-12)
        assert outcome.tie[at, 0] == pytest.approx((np.abs(sums) < 1e-9).mean(), abs=1e-12)


@given(pair())
def test_one_stratum_is_random_sampling(case: tuple[int, int, int, int]) -> None:
    n_examples, b, c, n = case
    outcome = strata_agreement(np.array([n_examples]), np.array([n]), np.array([[b]]), np.array([[c]]))
    assert (outcome.agree[0, 0], outcome.tie[0, 0]) == pytest.approx(one(*case), abs=1e-9)


def test_lattice_of_equal_ratios_counts_examples() -> None:
    assert lattice(np.array([60, 40]), np.array([6, 4])) == ((1, 1), 10)
    assert lattice(np.array([60, 40]), np.array([5, 5])) == ((3, 2), 25)


def test_lead_distribution_is_multivariate_hypergeometric() -> None:
    lead = lead_distribution(12, 4, np.array([3]), np.array([2]))[0]
    for z in range(-4, 5):
        ways = sum(
            comb(3, y + z) * comb(2, y) * comb(7, 4 - z - 2 * y)
            for y in range(5)
            if y + z >= 0 and 4 - z - 2 * y >= 0
        )
        assert lead[z + 4] == pytest.approx(ways / comb(12, 4), abs=1e-12)
