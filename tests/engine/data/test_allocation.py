import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.engine.data.allocation import largest_remainder


def allocate(
    size: int, shares: list[float], capacities: list[int], least: int = 0, seed: int = 0
) -> list[int]:
    rng = np.random.default_rng(seed)
    return largest_remainder(size, np.array(shares), np.array(capacities), rng, least=least).tolist()


def test_hare_quota_example_of_the_apportionment_literature():
    votes = [47_000.0, 16_000.0, 15_900.0, 12_000.0, 6_000.0, 3_100.0]
    assert allocate(10, votes, [10] * 6) == [5, 2, 1, 1, 1, 0]


def test_a_full_stratum_hands_the_rest_on():
    assert allocate(50, [1.0, 1.0, 1.0], [4, 100, 100]) == [4, 23, 23]


def test_the_least_is_taken_before_the_proportion():
    assert allocate(5, [96.0, 1.0, 1.0, 1.0, 1.0], [96, 1, 1, 1, 1], least=1) == [1, 1, 1, 1, 1]
    assert allocate(10, [96.0, 1.0, 1.0, 1.0, 1.0], [96, 1, 1, 1, 1], least=1) == [6, 1, 1, 1, 1]


def test_equal_fractions_are_drawn_by_lot():
    draws = [allocate(1, [1.0, 1.0, 1.0], [5, 5, 5], seed=seed).index(1) for seed in range(300)]
    assert min(np.bincount(draws, minlength=3)) > 70


@given(st.data())
def test_counts_sum_to_the_size_and_stay_within_their_bounds(data: st.DataObject):
    capacities = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=12))
    least = data.draw(st.integers(0, 1))
    size = data.draw(st.integers(least * len(capacities), sum(capacities)))
    shares = data.draw(st.lists(st.floats(0.01, 100), min_size=len(capacities), max_size=len(capacities)))
    counts = np.array(allocate(size, shares, capacities, least, seed=data.draw(st.integers(0, 5))))
    assert counts.sum() == size
    assert (counts >= least).all()
    assert (counts <= capacities).all()


@given(st.integers(0, 100))
def test_shares_of_the_stratum_sizes_need_no_capping(size: int):
    sizes = [50, 30, 15, 5]
    counts = np.array(allocate(size, [float(s) for s in sizes], sizes))
    assert np.abs(counts - np.array(sizes) * size / 100).max() < 1
