"""Allocates examples to strata by largest remainders, within lower and upper bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def largest_remainder(
    size: int,
    shares: NDArray[np.floating] | NDArray[np.integer],
    capacities: NDArray[np.integer],
    rng: np.random.Generator,
    *,
    least: int = 0,
) -> NDArray[np.int64]:
    """Whole numbers in proportion to `shares` that sum to `size`.

    What exceeds a stratum's capacity is shared among the others in proportion. What is left after
    rounding down goes to the largest fractions; ties are broken at random.

    Parameters
    ----------
    size : int
        Examples to allocate; K × `least` ≤ size ≤ sum of `capacities`.
    shares : ndarray, shape (K,)
        Positive; only their ratios matter.
    capacities : ndarray of int, shape (K,)
        Upper bound of each stratum, at least `least`.
    rng : Generator
        Breaks ties between equal fractions.
    least : int, default 0
        Lower bound of each stratum.

    Returns
    -------
    ndarray of int64, shape (K,)
        `least` ≤ each ≤ its capacity.
    """
    quotas = np.round(_bounded_quotas(size, shares.astype(np.float64), capacities, least), 9)
    counts = np.floor(quotas).astype(np.int64)
    fractions = quotas - counts
    ties = rng.permutation(len(counts))
    largest = np.lexsort((ties, -fractions))[: size - int(counts.sum())]
    counts[largest] += 1
    return counts


def _bounded_quotas(
    size: int, shares: NDArray[np.float64], capacities: NDArray[np.integer], least: int
) -> NDArray[np.float64]:
    """The real numbers clip(factor · share, least, capacity) whose sum is `size`."""
    knots = np.unique(np.concatenate((least / shares, capacities / shares)))
    sums = np.clip(knots[:, None] * shares, least, capacities).sum(axis=1)
    factor = np.interp(size, sums, knots)
    return np.clip(factor * shares, least, capacities)
