"""Intervals of a single score: Wilson and Clopper–Pearson, never Wald.

Sizes may be real numbers, so that a sample without replacement, strata or
clusters enter as an *effective* size (Korn & Graubard 1998, Survey Methodology 24).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Interval = tuple[float, float]


def critical(confidence: float, freedom: float = 0) -> float:
    """The quantile of a two-sided interval, 1.96 at 0.95; Student's t when `freedom` is given."""
    upper = 0.5 + confidence / 2
    return float(special.stdtrit(freedom, upper) if freedom else special.ndtri(upper))


def skewed_interval(
    mean: float, error: float, confidence: float, freedom: float, skewness: float, size: int
) -> Interval:
    """Student's t interval of a mean of skewed values, by Hall's transformation.

    The t statistic of values with a long tail misses on one side; its monotone cubic
    transformation does not (Hall 1992, J. R. Stat. Soc. B 54:221). At skewness 0 it is the t interval.

    Parameters
    ----------
    mean, error : float
        And its standard error, above 0.
    confidence : float
    freedom : float
        Of t; 0 for the normal distribution.
    skewness : float
        Of the values.
    size : int
        Values the mean is of.

    Returns
    -------
    low, high : float
        Within [−1, 1].
    """
    reach = critical(confidence, freedom)
    if abs(skewness) < 1e-9:
        return max(-1.0, mean - reach * error), min(1.0, mean + reach * error)
    root = size**0.5
    ends = []
    for end in (reach, -reach):
        cubed = 1 + skewness * (end / root - skewness / (6 * size))
        ends.append(mean - error * root * 3 / skewness * (float(np.cbrt(cubed)) - 1))
    return max(-1.0, min(ends[0], mean)), min(1.0, max(ends[1], mean))


def finite_size(n: ArrayLike, total: ArrayLike) -> NDArray[np.float64]:
    """Examples drawn with replacement that tell as much as n of `total` without: n (N−1) / (N−n).

    Infinite at n = N: then the mean is known.
    """
    n, total = np.asarray(n, dtype=np.float64), np.asarray(total, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.where(n >= total, np.inf, n * (total - 1) / (total - n))


def wilson(
    successes: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's score interval of a proportion (Wilson 1927).

    Parameters
    ----------
    successes, n : array_like
        Sum of scores and size; real numbers are taken as effective counts.
    confidence : float

    Returns
    -------
    low, high : ndarray
        Within [0, 1]; never a single point. 3/3 gives [.438, 1], 0/10 [0, .278].
    """
    n = np.asarray(n, dtype=np.float64)
    return wilson_share(np.asarray(successes, dtype=np.float64) / n, n, confidence)


def wilson_share(
    share: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's interval from a share in [0, 1]; at infinite n the share itself."""
    p, n = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    z2 = critical(confidence) ** 2 / n
    middle = (p + z2 / 2) / (1 + z2)
    half = np.sqrt(z2 * (p * (1 - p) + z2 / 4)) / (1 + z2)
    low = np.where(p <= 0, 0.0, np.minimum(np.maximum(middle - half, 0.0), p))
    high = np.where(p >= 1, 1.0, np.maximum(np.minimum(middle + half, 1.0), p))
    return low, high
