"""The difference of two models on the same examples, with its interval.

One family of intervals: Tango's score interval (Tango 1998, Stat. Med. 17:891) at an
effective size, which at difference 0 is McNemar's test and stays honest with few
examples or none that differ; and Student's t where the differences are graded,
repeated or clustered and there are enough of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from service.engine.comparison.intervals import Interval, critical
from service.engine.comparison.mcnemar import mid_p
from service.engine.comparison.sampling_design import Design, Truth

Kind = Literal["score", "t", "exact", "model"]

# Fewer differing examples than this carry no t interval.
LEAST_FOR_T = 10
# Differences that are all the same leave a variance like this behind.
ROUNDING = 1e-24


@dataclass(frozen=True, slots=True, eq=False)
class PairedScores:
    """Two models' results on the examples both answered.

    Attributes
    ----------
    baseline, candidate : ndarray of float64, shape (n,)
        Scores in [0, 1]; the mean over repeats where there are any.
    design : Design
        Of these n examples.
    clusters : ndarray of int64, shape (n,), optional
        Examples that stand or fall together (one passage), 0 … G−1, every one occurring.
    noise : ndarray of float64, shape (n,), optional
        Variance each example's difference has from the runs alone, measured by
        repeats; None when there was one run each.
    """

    baseline: NDArray[np.float64]
    candidate: NDArray[np.float64]
    design: Design
    clusters: NDArray[np.int64] | None = None
    noise: NDArray[np.float64] | None = None

    @property
    def differences(self) -> NDArray[np.float64]:
        """Candidate minus baseline, shape (n,)."""
        return self.candidate - self.baseline

    @property
    def binary(self) -> bool:
        """Whether every score is 0 or 1."""
        return bool(np.isin(self.baseline, (0, 1)).all() and np.isin(self.candidate, (0, 1)).all())

    @property
    def difference(self) -> float:
        """Estimated difference of the full scores."""
        return float(self.design.mean(self.differences))

    @property
    def movement(self) -> float:
        """Mean absolute difference; for 0/1 scores the disagreement rate."""
        return float(self.design.mean(np.abs(self.differences)))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A difference with what is known about its error.

    Attributes
    ----------
    difference, standard_error : float
    interval : (float, float)
        Two-sided, contains the difference.
    size : float
        Independent 0/1 examples that would tell as much; infinite when nothing is unknown.
    kind : "score", "t", "exact" or "model"
    freedom : int
        Degrees of freedom of t; 0 for the normal distribution.
    """

    difference: float
    standard_error: float
    interval: Interval
    size: float
    kind: Kind
    freedom: int = 0


def difference(pairs: PairedScores, confidence: float = 0.95, truth: Truth = "population") -> Estimate:
    """The paired difference with a two-sided interval.

    Parameters
    ----------
    pairs : PairedScores
    confidence : float
    truth : "population" or "full_benchmark"
        Whether the interval is for the models on examples like these and on new
        runs, or for what the same runs would score on the N examples of the
        benchmark (finite-population correction; repeats keep their noise:
        two-stage sampling, Cochran 1977, eq. 10.15).
    """
    size = _size(pairs, truth, critical(confidence))
    variance = _variance(pairs, truth)
    if np.isinf(size) and variance == 0:
        return Estimate(pairs.difference, 0.0, (pairs.difference, pairs.difference), size, "exact")
    freedom = _freedom(pairs)
    if freedom and variance > 0:
        half = critical(confidence, freedom) * variance**0.5
        low, high = max(-1.0, pairs.difference - half), min(1.0, pairs.difference + half)
        size = (pairs.movement - pairs.difference**2) / variance
        return Estimate(pairs.difference, variance**0.5, (low, high), size, "t", freedom)
    interval = score_interval(pairs.difference, pairs.movement, size, confidence)
    error = variance**0.5 if variance > 0 else _least_error(pairs, pairs.difference, size)
    return Estimate(pairs.difference, error, interval, size, "score")


def modelled_difference(
    pairs: PairedScores, difference: float, standard_error: float, confidence: float, truth: Truth
) -> Estimate:
    """A difference estimated by a model, with a normal error.

    `standard_error` is that of the full benchmark's realised difference. For the models
    themselves the run's own noise on the full benchmark comes on top: its variance is at
    most the movement over N, or as measured by repeats.
    """
    variance = standard_error**2
    if truth == "population":
        noise = pairs.movement if pairs.noise is None else float(pairs.design.mean(pairs.noise))
        variance += noise / pairs.design.total
    if variance == 0:
        return Estimate(difference, 0.0, (difference, difference), np.inf, "exact")
    half = critical(confidence) * variance**0.5
    interval = max(-1.0, difference - half), min(1.0, difference + half)
    size = _least_error(pairs, difference, len(pairs.differences)) ** 2 * len(pairs.differences) / variance
    return Estimate(difference, variance**0.5, interval, size, "model")


def score_interval(difference: float, movement: float, size: float, confidence: float) -> Interval:
    """Tango's interval, widened to 0 where the mid-p McNemar test does not reject.

    The widening is needed in a few small samples only; with it the interval, the
    test and the verdict never disagree. Up to 99 % confidence mid-p never rejects where
    Tango's interval holds 0 (every b + c < 800 was tried).
    """
    gain, loss = (movement + difference) / 2 * size, (movement - difference) / 2 * size
    low, high = tango(gain, loss, size, critical(confidence))
    if mid_p(gain, loss) > 1 - confidence:
        return min(float(low), 0.0), max(float(high), 0.0)
    return float(low), float(high)


def tango(
    gain: ArrayLike, loss: ArrayLike, n: ArrayLike, z: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Tango's score interval of (gain − loss) / n.

    Parameters
    ----------
    gain, loss : array_like
        Examples only the second, only the first model gets right; real numbers are
        effective counts.
    n : array_like
        All examples, including those the models agree on.
    z : array_like
        Two-sided critical value.

    Examples
    --------
    >>> low, high = tango(1, 7, 21, 1.96)
    >>> print(f"{low:.3f} {high:.3f}")
    -0.517 -0.026
    """
    gain, loss, n, z = np.broadcast_arrays(
        *(np.asarray(part, dtype=np.float64) for part in (gain, loss, n, z))
    )
    middle = (gain - loss) / n
    low = _bisect(gain, loss, n, z, np.full(middle.shape, -1.0), middle)
    high = -_bisect(loss, gain, n, z, np.full(middle.shape, -1.0), -middle)
    return low, high


def score_statistic(gain: ArrayLike, loss: ArrayLike, n: ArrayLike, delta: ArrayLike) -> NDArray[np.float64]:
    """Tango's z for the hypothesis that the difference is `delta`; at 0 McNemar's z."""
    gain, loss, n, delta = (np.asarray(part, dtype=np.float64) for part in (gain, loss, n, delta))
    linear = delta * (2 * n - gain + loss) - gain - loss
    root = np.sqrt(np.maximum(linear**2 + 8 * n * loss * delta * (1 - delta), 0))
    only_first = (root - linear) / (4 * n)
    variance = np.maximum(2 * only_first + delta * (1 - delta), 0) / n
    off = (gain - loss) / n - delta
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(off == 0, 0.0, off / np.sqrt(variance))


def _bisect(
    gain: NDArray[np.float64], loss: NDArray[np.float64], n: NDArray[np.float64],
    z: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64],
) -> NDArray[np.float64]:  # fmt: skip
    """Smallest difference not rejected from below, to 2⁻⁴⁸."""
    for _ in range(49):
        middle = (low + high) / 2
        rejected = score_statistic(gain, loss, n, middle) > z
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return low


def _variance(pairs: PairedScores, truth: Truth) -> float:
    """Variance of the estimated difference, by clusters when there are any."""
    design, differences = pairs.design, pairs.differences
    finite = truth == "full_benchmark"
    if pairs.clusters is None:
        variance = float(design.variance(differences, truth))
    else:
        sums = np.bincount(pairs.clusters, design.weights * (differences - pairs.difference))
        variance = float((sums**2).sum()) * len(sums) / max(len(sums) - 1, 1)
        variance *= 1 - len(differences) / design.total if finite else 1
    if finite and pairs.noise is not None:
        variance += float((design.weights**2 * design.fractions * pairs.noise).sum())
    return variance if variance > ROUNDING else 0.0


def _freedom(pairs: PairedScores) -> int:
    """Degrees of freedom of t; 0 where t does not apply."""
    if pairs.clusters is not None:
        return int(pairs.clusters.max())
    if pairs.binary or np.count_nonzero(pairs.differences) < LEAST_FOR_T:
        return 0
    return max(len(pairs.differences) - len(pairs.design.sizes), 0)


def _size(pairs: PairedScores, truth: Truth, z: float) -> float:
    """Effective size for the score interval."""
    bound = np.asarray(pairs.movement - pairs.difference**2)
    size = float(pairs.design.effective_size(pairs.differences, bound, truth, z**2 / 2))
    if pairs.clusters is not None:
        size *= (pairs.clusters.max() + 1) / len(pairs.clusters)
    return size


def _least_error(pairs: PairedScores, difference: float, size: float) -> float:
    """Standard error with one example added each way, where the sample shows none (Agresti & Min 2005)."""
    movement = max(pairs.movement, abs(difference))
    gain, loss = ((movement + sign * difference) / 2 * size + 1 for sign in (1, -1))
    return float(((gain + loss - (gain - loss) ** 2 / (size + 2)) ** 0.5) / (size + 2))
