"""Agreement by true difference → the minimum difference reliably detected (MDAD).

Two rules. The default is isotonic: fit agreement as a non-decreasing function of
the difference, weighted by pairs, and take the smallest difference from which on
the fit is at least p. The paper's is the lower edge of the first bin whose raw
agreement is at least p (arXiv 2510.08730).

The isotonic rule needs no fit: the bins where weighted isotonic regression is at
least p are the upper set that maximises Σ w (y − p), the largest one of equals. So
suffix sums answer it for any number of curves and resamples at once.

Source: the upper-set form of isotonic regression (Robertson, Wright and Dykstra, Order
Restricted Statistical Inference, 1988, chapter 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NEVER = -1
"""Bin of an MDAD that is not reached."""

TOLERANCE = 1e-9


def isotonic_bin(
    weight: NDArray[np.float64], credit: NDArray[np.float64], probability: float
) -> NDArray[np.int64]:
    """First bin of the isotonic fit at or above `probability`, or NEVER.

    Parameters
    ----------
    weight : ndarray, shape (bins, …)
        Pairs in each bin, by ascending difference.
    credit : ndarray, shape (bins, …)
        Agreements among them (ties counted as the caller counts them).

    Returns
    -------
    ndarray of int64, shape (…)
    """
    above: NDArray[np.float64] = credit - probability * weight
    for at in range(len(above) - 2, -1, -1):
        above[at] += above[at + 1]
    best = np.maximum(above.max(axis=0), 0) - TOLERANCE * np.maximum(weight.sum(axis=0), 1)
    return _first(above >= best, weight)


def first_crossing_bin(
    weight: NDArray[np.float64], credit: NDArray[np.float64], probability: float
) -> NDArray[np.int64]:
    """First bin whose raw agreement is at least `probability` (the paper's rule), or NEVER.

    Parameters and result as `isotonic_bin`.
    """
    return _first(credit >= (probability - TOLERANCE) * weight, weight)


def _first(reached: NDArray[np.bool_], weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """First bin that is reached and holds pairs, or NEVER."""
    reached &= weight > 0
    return np.where(reached.any(axis=0), reached.argmax(axis=0), NEVER)
