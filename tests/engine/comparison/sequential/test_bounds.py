"""Critical values against published tables, multivariate normal probabilities and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal

from service.engine.comparison.sequential.bounds import LARGEST, critical_values

Floats = NDArray[np.float64]
FIVE = np.arange(1, 6) / 5
UNEQUAL = np.array([0.1, 0.3, 1.0])


def obrien_fleming(error: float, share: Floats) -> Floats:
    """Lan and DeMets' spending of O'Brien and Fleming's type, two-sided."""
    return np.asarray(4 * ndtr(ndtri(error / 4) / np.sqrt(share)))


def pocock(error: float, share: Floats) -> Floats:
    return np.asarray(error * np.log(1 + (np.e - 1) * share))


@pytest.mark.parametrize(
    ("information", "spent", "published"),
    [
        # Lan-DeMets tables (Jennison & Turnbull 2000, ch. 7; Reboussin et al. 2000).
        (FIVE, obrien_fleming(0.05, FIVE), [4.8769, 3.3570, 2.6803, 2.2898, 2.0310]),
        (FIVE, pocock(0.05, FIVE), [2.4380, 2.4268, 2.4102, 2.3966, 2.3860]),
        (FIVE, obrien_fleming(0.10, FIVE), [4.2292, 2.8881, 2.2981, 1.9618, 1.7397]),
        (UNEQUAL, obrien_fleming(0.05, UNEQUAL), [6.9914, 3.9286, 1.9602]),
        (UNEQUAL, pocock(0.05, UNEQUAL), [2.6551, 2.4484, 2.1315]),
    ],
)
def test_published_bounds(information: Floats, spent: Floats, published: list[float]) -> None:
    assert critical_values(information, spent) == pytest.approx(published, abs=1.5e-4)


def test_the_error_spent_is_what_a_multivariate_normal_crosses() -> None:
    information, spent = np.array([3.0, 5.0, 11.0]), np.array([0.02, 0.05, 0.10])

    found = critical_values(information, spent)

    roots = np.sqrt(np.minimum.outer(information, information) / np.maximum.outer(information, information))
    for looks in (1, 2, 3):
        ends = found[:looks]
        inside = multivariate_normal(cov=roots[:looks, :looks], abseps=1e-8, seed=0).cdf(
            ends, lower_limit=-ends
        )
        assert 1 - inside == pytest.approx(spent[looks - 1], abs=2e-5)


def test_one_look_is_the_fixed_test() -> None:
    assert critical_values(np.array([7.0]), np.array([0.05])) == pytest.approx([1.959964], abs=1e-6)


def test_a_look_without_error_to_spend_is_not_crossed() -> None:
    found = critical_values(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.05, 0.05]))

    assert found[[0, 2]].tolist() == [LARGEST, LARGEST]
    assert found[1] == pytest.approx(1.96, abs=1e-3)


def test_sixty_looks_spend_their_error() -> None:
    """Brownian motion on the same looks crosses as often as was spent."""
    share = np.arange(1, 61) / 60
    found = critical_values(share, 0.1 * share**2)

    steps = np.random.default_rng(0).normal(size=(40_000, 60)) / 60**0.5
    crossed = (np.abs(steps.cumsum(axis=1)) > found * np.sqrt(share)).any(axis=1).mean()

    assert crossed == pytest.approx(0.1, abs=3 * (0.09 / 40_000) ** 0.5)
