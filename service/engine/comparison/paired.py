"""The difference of two models on the same examples, with its interval.

One family of intervals: Tango's score interval (Tango 1998, Stat. Med. 17:891) at an
effective size, which at difference 0 is McNemar's test and stays honest with few
examples or none that differ; and Student's t, with Hall's transformation for skewed
differences, where they are graded, repeated or clustered and there are enough of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from service.engine.comparison.few_answers import FEW
from service.engine.comparison.intervals import Interval, critical, finite_size, skewed_interval, wilson_share
from service.engine.comparison.mcnemar import mid_p
from service.engine.comparison.sampling_design import Design, Truth

Kind = Literal["score", "t", "exact", "model", "assisted"]

# Fewer differing examples than this carry no t interval: rare drops hide the rarest and largest.
LEAST_FOR_T = 20
# Fewer clusters than this may all have gone one way by chance, whatever their errors say.
FEW_CLUSTERS = 6
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
    kind : "score", "t", "exact", "model" or "assisted"
    freedom : float
        Degrees of freedom of t; 0 for the normal distribution.
    """

    difference: float
    standard_error: float
    interval: Interval
    size: float
    kind: Kind
    freedom: float = 0


@dataclass(frozen=True, slots=True)
class Modelled:
    """A difference of full scores estimated from more than the paired answers.

    Attributes
    ----------
    baseline, candidate : float
        Estimated full scores; the baseline's exact where it is known in full.
    standard_error : float
        Of their difference from the one the same runs would show on the full benchmark.
    kind : "model" or "assisted"
        Whether the error is a model's word or a probability sample's.
    freedom : float
        Of Student's t; 0 for the normal distribution.
    run_variance : float
        Variance of the difference from one run to the next, of both models.
    baseline_known : bool
        Whether the baseline's score is exact.
    skewness : float
        Of the errors that the standard error is of; 0 leaves the interval symmetric.
    """

    baseline: float
    candidate: float
    standard_error: float
    kind: Literal["model", "assisted"] = "model"
    freedom: float = 0
    run_variance: float = 0.0
    baseline_known: bool = False
    skewness: float = 0.0


def difference(pairs: PairedScores, confidence: float = 0.95, truth: Truth = "population") -> Estimate:
    """The paired difference with a two-sided interval.

    Parameters
    ----------
    pairs : PairedScores
    confidence : float
    truth : "population", "full_benchmark" or "runs"
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
    few = pairs.clusters is not None and pairs.clusters.max() + 1 < FEW_CLUSTERS
    if (freedom or np.isinf(size)) and variance > 0:
        low, high = skewed_interval(
            pairs.difference, variance**0.5, confidence, freedom, _skewness(pairs), len(pairs.differences)
        )
        if few:
            wide = score_interval(pairs.difference, pairs.movement, size, confidence)
            low, high = min(low, wide[0]), max(high, wide[1])
        size = (pairs.movement - pairs.difference**2) / variance
        return Estimate(pairs.difference, variance**0.5, (low, high), size, "t", freedom)
    interval = score_interval(pairs.difference, pairs.movement, size, confidence)
    error = variance**0.5 if variance > 0 else _least_error(pairs, pairs.difference, size)
    return Estimate(pairs.difference, error, interval, size, "score")


def modelled_difference(pairs: PairedScores, modelled: Modelled, confidence: float, truth: Truth) -> Estimate:
    """A difference of estimated full scores with its interval.

    For the models on questions like these, the benchmark's N examples are themselves a
    sample: its variance, at most the movement over N, comes on top and holds the runs' noise.
    """
    gap = modelled.candidate - modelled.baseline
    variance = modelled.standard_error**2
    if truth == "population":
        variance += pairs.movement / pairs.design.total
    else:
        variance += modelled.run_variance
    if variance == 0:
        return Estimate(gap, 0.0, (gap, gap), np.inf, "exact")
    size = len(pairs.differences)
    low, high = skewed_interval(gap, variance**0.5, confidence, modelled.freedom, modelled.skewness, size)
    if modelled.kind == "assisted" and pairs.binary:
        low, high = _with_few((low, high), pairs, modelled, confidence, truth)
    interval = max(-1.0, low), min(1.0, high)
    worth = _least_error(pairs, gap, size) ** 2 * size / variance
    return Estimate(gap, variance**0.5, interval, worth, modelled.kind, modelled.freedom)


def _with_few(
    interval: Interval, pairs: PairedScores, modelled: Modelled, confidence: float, truth: Truth
) -> Interval:
    """The interval, an end moved where answers of a kind are so few that their spread says little.

    With hardly a wrong answer drawn a model may be worse than it seems, with hardly a right one
    better. The end is then at least that of an interval that needs no spread of errors:
    Wilson's of the candidate against a baseline known in full, else Tango's of the pairs.
    """
    right, wrong = _few_of_a_kind(pairs.candidate)
    if not modelled.baseline_known:
        of_baseline = _few_of_a_kind(pairs.baseline)
        right, wrong = right or of_baseline[1], wrong or of_baseline[0]
    if not right and not wrong:
        return interval
    if modelled.baseline_known:
        drawn = len(pairs.candidate)
        size = drawn if truth == "population" else finite_size(drawn, pairs.design.total)
        ends = wilson_share(float(pairs.design.mean(pairs.candidate)), size, confidence)
        low, high = (float(end) - modelled.baseline for end in ends)
    else:
        low, high = difference(pairs, confidence, truth).interval
    return min(interval[0], low) if wrong else interval[0], max(interval[1], high) if right else interval[1]


def _few_of_a_kind(answers: NDArray[np.float64]) -> tuple[bool, bool]:
    """Whether right, and whether wrong, answers are fewer than `FEW`."""
    return bool(answers.sum() < FEW), bool((1 - answers).sum() < FEW)


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
    finite = truth != "population"
    if pairs.clusters is None:
        variance = float(design.variance(differences, truth))
    else:
        variance = _without_each(pairs, pairs.clusters)
        variance *= 1 - len(differences) / design.total if finite else 1
    variance += _run_variance(pairs) if finite else 0.0
    return variance if variance > ROUNDING else 0.0


def _without_each(pairs: PairedScores, clusters: NDArray[np.int64]) -> float:
    """Jackknife variance: each cluster left out in turn, so that one large cluster does not hide itself."""
    weights = pairs.design.weights
    sums, shares = np.bincount(clusters, weights * pairs.differences), np.bincount(clusters, weights)
    groups = len(sums)
    if groups == 1:
        return 0.0
    left = (sums.sum() - sums) / (1 - shares)
    return float((groups - 1) / groups * ((left - pairs.difference) ** 2).sum())


def _run_variance(pairs: PairedScores) -> float:
    """What new runs of the examples answered add (two-stage sampling)."""
    if pairs.noise is None:
        return 0.0
    return float((pairs.design.weights**2 * pairs.design.fractions * pairs.noise).sum())


def _skewness(pairs: PairedScores) -> float:
    """Of the differences; of the clusters' sums it says nothing, so 0 there."""
    if pairs.clusters is not None:
        return 0.0
    weights, off = pairs.design.weights, pairs.differences - pairs.difference
    spread = float(weights @ off**2)
    return float(weights @ off**3) / spread**1.5 if spread > ROUNDING else 0.0


def _freedom(pairs: PairedScores) -> float:
    """Degrees of freedom of t; 0 where t does not apply.

    Of clusters G − 1, fewer where their sizes differ (Carter, Schnepel & Steigerwald 2017):
    (Σ v)²/Σ v² · (G − 1)/G for v the squares of their shares.
    """
    if pairs.clusters is not None:
        shares = np.bincount(pairs.clusters, pairs.design.weights) ** 2
        groups = len(shares)
        return float(max(shares.sum() ** 2 / (shares**2).sum() * (groups - 1) / groups, min(groups - 1, 1)))
    if pairs.binary or np.count_nonzero(pairs.differences) < LEAST_FOR_T:
        return 0
    return max(len(pairs.differences) - len(pairs.design.sizes), 0)


def _size(pairs: PairedScores, truth: Truth, z: float) -> float:
    """Effective size for the score interval."""
    bound = pairs.movement - pairs.difference**2
    size = float(pairs.design.effective_size(pairs.differences, np.asarray(bound), truth, z**2 / 2))
    if pairs.clusters is not None:
        size *= (pairs.clusters.max() + 1) / len(pairs.clusters)
    runs = _run_variance(pairs) if truth != "population" else 0.0
    if runs == 0 or np.isinf(size):
        return size
    one = _least_error(pairs, pairs.difference, len(pairs.differences)) ** 2 * len(pairs.differences)
    return 1 / (1 / size + runs / one)


def _least_error(pairs: PairedScores, difference: float, size: float) -> float:
    """Standard error with one example added each way, where the sample shows none (Agresti & Min 2005)."""
    movement = max(pairs.movement, abs(difference))
    gain, loss = ((movement + sign * difference) / 2 * size + 1 for sign in (1, -1))
    return float(((gain + loss - (gain - loss) ** 2 / (size + 2)) ** 0.5) / (size + 2))
