"""MDAD of agreement curves: the isotonic rule and the paper's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.isotonic import isotonic_regression

from service.engine.measures.mdad import NEVER, first_crossing_bin, isotonic_bin


def by_regression(weight: np.ndarray, credit: np.ndarray, probability: float) -> int:
    """The definition: fit, then the first bin at or above the probability."""
    held = np.flatnonzero(weight)
    fit = isotonic_regression(credit[held] / weight[held], sample_weight=weight[held])
    above = np.flatnonzero(fit >= probability - 1e-9)
    return int(held[above[0]]) if len(above) else NEVER


@given(
    arrays(np.int64, st.integers(1, 30), elements=st.integers(0, 12)),
    st.sampled_from([0.5, 0.75, 0.8, 0.9]),
    st.integers(0, 2**32 - 1),
)
def test_suffix_sums_equal_the_isotonic_fit(weight: np.ndarray, probability: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = weight.astype(float)
    credit = rng.binomial(2 * weight.astype(int), rng.random(len(weight))) / 2
    expected = by_regression(weight, credit, probability) if weight.any() else NEVER
    assert isotonic_bin(weight[:, None], credit[:, None], probability)[0] == expected


def test_a_fit_of_exactly_the_probability_counts() -> None:
    weight, credit = np.array([[5.0], [10.0]]), np.array([[4.0], [8.0]])
    assert isotonic_bin(weight, credit, 0.8)[0] == 0
    assert first_crossing_bin(weight, credit, 0.8)[0] == 0


def test_chance_in_every_bin_is_never_reached() -> None:
    weight, credit = np.full((20, 1), 50.0), np.full((20, 1), 25.0)
    assert isotonic_bin(weight, credit, 0.8)[0] == NEVER
    assert first_crossing_bin(weight, credit, 0.8)[0] == NEVER


def test_a_curve_that_falls_again_counts_from_where_it_stays() -> None:
    weight = np.full((3, 1), 50.0)
    credit = weight * np.array([[0.90], [0.50], [0.96]])
    assert first_crossing_bin(weight, credit, 0.8)[0] == 0
    assert isotonic_bin(weight, credit, 0.8)[0] == 2


def test_empty_bins_are_passed_over() -> None:
    weight = np.array([[0.0], [4.0], [0.0], [4.0]])
    credit = np.array([[0.0], [1.0], [0.0], [4.0]])
    assert isotonic_bin(weight, credit, 0.8)[0] == 3
    assert first_crossing_bin(weight, credit, 0.8)[0] == 3


def test_many_curves_and_resamples_at_once() -> None:
    rng = np.random.default_rng(0)
    weight = rng.poisson(3, size=(40, 1, 25)).astype(float)
    credit = rng.binomial(weight.astype(int), 0.8, size=(40, 6, 25)).astype(float)
    found = isotonic_bin(weight, credit, 0.8)
    for curve in range(6):
        for at in range(25):
            assert found[curve, at] == by_regression(weight[:, 0, at], credit[:, curve, at], 0.8)


def test_no_pairs_no_answer() -> None:
    for rule in (isotonic_bin, first_crossing_bin):
        assert rule(np.zeros((5, 1)), np.zeros((5, 1)), 0.8)[0] == NEVER
