"""What few models say about each of many examples, drawn towards what they say about all.

Empirical Bayes throughout: an estimate keeps the share of its distance from the common
value by which the estimates spread more than their own noise does. An estimate that was
picked because it is extreme is then no longer an overestimate on average, which is what
choosing examples by estimated variance and covariance needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ASSUMED_CORRELATION = 0.3
"""Of two examples, where one or two models cannot tell."""
_LEAST_SHARE = 0.05
_LEAST_KEPT = 0.01
"""Of differences between loadings: they still decide between examples that are otherwise equal."""
_LEAST_VARIANCE = 1e-6
_LARGEST_LOADING = 0.97
_INTENSITIES = np.array(
    [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 0.99, 1.0]
)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Mean and variance of a new model's score on each example, each of shape (N,)."""

    mean: Floats
    variance: Floats


def moments(scores: Floats) -> Moments:
    """Shrunk means and variances of the examples.

    Means go towards the grand mean by the reliability of the example means (1 − residual /
    between-example mean square of the two-way layout, Hoyt 1941: the part of the noise that
    all examples share, because some models are better, does no harm). Variances go towards
    φ·μ(1 − μ), with φ = 1 for 0/1 scores.

    Parameters
    ----------
    scores : ndarray of float64, shape (S, N)
        In [0, 1].
    """
    models, examples = scores.shape
    raw = scores.mean(axis=0)
    grand, between = float(raw.mean()), float(raw.var(ddof=1)) if examples > 1 else 0.0
    bernoulli = raw * (1 - raw)
    if models < 3:
        mean = grand + models / (models + 2) * (raw - grand)
        return Moments(mean, np.maximum(mean * (1 - mean), _LEAST_VARIANCE))
    variance = scores.var(axis=0, ddof=1)
    shared = examples * scores.mean(axis=1).var() * models / (models - 1)
    residual = max(float(variance.sum()) - shared, 0.0) / max(examples - 1, 1)
    reliability = max(1 - residual / models / between, 0.0) if between > 0 else 0.0
    mean = grand + reliability * (raw - grand)
    expected = float(bernoulli.mean() + variance.mean() / models)
    scale = min(float(variance.mean()) / expected, 1.0) if expected > 0 else 1.0
    prior = np.maximum(scale * mean * (1 - mean), _LEAST_VARIANCE)
    squares = (scores - raw) ** 2 / prior
    squares -= squares.mean(axis=1, keepdims=True)
    kept = _share(float((variance / prior).var()), float(squares.var(axis=0).mean()) / models)
    return Moments(mean, np.maximum(prior + kept * (variance - prior), _LEAST_SHARE * prior))


def standardise(scores: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores in units of each example's standard deviation about its mean, and which examples vary.

    Shapes (S, N), zero on examples that do not vary, and (N,).
    """
    spread = scores.std(axis=0)
    varied = spread > 1e-9
    return (scores - scores.mean(axis=0)) / np.where(varied, spread, np.inf), varied


def loadings(standard: Floats, varied: NDArray[np.bool_], caution: float = 0.0) -> Floats:
    """Correlation of each example with the general factor, shrunk towards their mean; shape (N,).

    From each example's mean correlation with the others. All 0 when that is not positive
    on average: then there is no general factor.

    Parameters
    ----------
    standard : ndarray of float64, shape (S, N)
    varied : ndarray of bool, shape (N,)
    caution : float
        Shrink further, by caution / S.
    """
    models, count = len(standard), int(varied.sum())
    if models < 3:
        return np.full(len(varied), np.sqrt(ASSUMED_CORRELATION))
    if count < 3:
        return np.zeros(len(varied))
    z = standard[:, varied]
    products = z * ((z.sum(axis=1, keepdims=True) - z) / (count - 1))
    mean = products.mean(axis=0)
    common = float(mean.mean())
    if common <= 0:
        return np.zeros(len(varied))
    products -= products.mean(axis=1, keepdims=True)
    kept = _share(float(mean.var()), float(products.var(axis=0).mean()) / (models - 1))
    kept *= max(1 - caution / models, _LEAST_KEPT)
    shrunk = common + kept * (mean - common)
    pairs = (shrunk.sum() ** 2 - (shrunk**2).sum()) / (count * (count - 1))
    shrunk *= np.sqrt(common / pairs) if pairs > 0 else 0.0
    every = np.full(len(varied), shrunk.mean())
    every[varied] = shrunk
    return np.asarray(np.clip(every, -_LARGEST_LOADING, _LARGEST_LOADING))


def group_variance(scores: Floats, groups: NDArray[np.integer]) -> float:
    """Variance of models' means on a group of examples beyond noise and their overall mean.

    Pooled over groups of at least two examples; never below 0.

    Parameters
    ----------
    scores : ndarray of float64, shape (S, N)
    groups : ndarray of int, shape (N,)
        0 … K−1.
    """
    models = len(scores)
    sizes = np.bincount(groups)
    if models < 3 or sizes.max() < 2:
        return 0.0
    deviations = scores - scores.mean(axis=0)
    sums, squares = (by_group(values, groups, len(sizes)) for values in (deviations, deviations**2))
    counts = np.maximum(sizes, 1)
    means = sums / counts
    noise = (squares / counts - means**2).mean(axis=0) / np.maximum(sizes - 1, 1)
    overall = deviations.mean(axis=1)
    if (total := float(overall @ overall)) > 0:
        means = means - np.outer(overall, overall @ means / total)
    effects = (means**2).sum(axis=0) / (models - 2) - noise
    return max(float(np.average(effects, weights=np.where(sizes > 1, sizes, 0))), 0.0)


def by_group(values: Floats, groups: NDArray[np.integer], count: int) -> Floats:
    """Sums over the examples of each group, shape (S, K)."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(count))
    filled = np.diff(np.append(starts, len(groups))) > 0
    sums = np.zeros((len(values), count))
    sums[:, filled] = np.add.reduceat(values[:, order], starts[filled], axis=1)
    return sums


def intensity(residuals: Floats, factor: Floats, noise: Floats) -> float:
    """How far to shrink the sample covariance towards factor·factorᵀ + diag(noise), 0 … 1.

    The value under which the source models are most likely, each left out in turn
    (Hoffbeck & Landgrebe 1996, LOOC). Leaving one out changes the covariance by rank one,
    so one eigendecomposition of size S serves every model and every value.

    Parameters
    ----------
    residuals : ndarray of float64, shape (S, N)
        About the mean, S ≥ 4.
    factor : ndarray of float64, shape (N, K)
    noise : ndarray of float64, shape (N,)
        Above 0.
    """
    models, examples = residuals.shape
    scaled = residuals / noise
    gram = scaled @ residuals.T
    inner = np.linalg.cholesky(np.eye(factor.shape[1]) + factor.T @ (factor / noise[:, None]))
    explained = np.linalg.solve(inner, (scaled @ factor).T)
    values, vectors = np.linalg.eigh(gram - explained.T @ explained)
    values = np.maximum(values, 0)
    parts = vectors**2 * values
    best, chosen = -np.inf, 1.0
    for share in _INTENSITIES:
        spectrum = share + (1 - share) / (models - 1) * values
        quadratic = (parts / spectrum).sum(axis=1)
        left = np.maximum(1 - (1 - share) * models / (models - 1) ** 2 * quadratic, 1e-12)
        volume = np.log(spectrum).sum() + (examples - models) * np.log(share)
        misfit = (models / (models - 1)) ** 2 * quadratic / left
        likelihood = -float((volume + np.log(left) + misfit).mean())
        if likelihood > best:
            best, chosen = likelihood, float(share)
    return chosen


def _share(spread: float, noise: float) -> float:
    """Share of the spread of noisy estimates that is not noise."""
    return max(spread - noise, 0.0) / spread if spread > 0 else 0.0
