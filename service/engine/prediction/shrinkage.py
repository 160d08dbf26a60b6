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
    products = _with_others(standard[:, varied])
    mean = products.mean(axis=0)
    common = float(mean.mean())
    if common <= 0:
        return np.zeros(len(varied))
    products -= products.mean(axis=1, keepdims=True)
    kept = _share(float(mean.var()), float(products.var(axis=0).mean()) / (models - 1))
    kept *= max(1 - caution / models, _LEAST_KEPT)
    shrunk = _scaled(common + kept * (mean - common), common)
    every = np.full(len(varied), shrunk.mean())
    every[varied] = shrunk
    return np.asarray(np.clip(every, -_LARGEST_LOADING, _LARGEST_LOADING))


def group_loadings(
    standard: Floats,
    varied: NDArray[np.bool_],
    general: Floats,
    groups: NDArray[np.integer],
    caution: float = 0.0,
) -> Floats:
    """Correlation of each example with a factor of its own group, beside the general one; shape (N,).

    As `loadings`, from mean correlations within the group less what the general factor
    makes of them. How strong a group's factor is, is drawn half way to the groups' mean; how
    far its examples differ, by what all groups show. 0 in groups of fewer than three examples.

    Parameters
    ----------
    standard : ndarray of float64, shape (S, N)
    varied : ndarray of bool, shape (N,)
    general : ndarray of float64, shape (N,)
        Loadings on the general factor.
    groups : ndarray of int, shape (N,)
    caution : float
    """
    found = np.zeros(len(varied))
    parts = [np.flatnonzero(varied & (groups == k)) for k in range(int(groups.max()) + 1)]
    parts = [part for part in parts if len(part) > 2]
    if len(standard) < 3 or not parts:
        return found
    means, noises = zip(*(_beside_general(standard[:, p], general[p]) for p in parts), strict=True)
    spread = float(np.mean([mean.var() for mean in means]))
    kept = _share(spread, float(np.mean(noises))) * max(1 - caution / len(standard), _LEAST_KEPT)
    pooled = max(float(np.mean([mean.mean() for mean in means])), 0.0)
    for part, mean in zip(parts, means, strict=True):
        common = (pooled + max(float(mean.mean()), 0.0)) / 2
        drawn = _scaled(common + kept * (mean - mean.mean()), common)
        found[groups == groups[part[0]]] = drawn.mean()
        found[part] = drawn
    return np.asarray(np.clip(found, -_LARGEST_LOADING, _LARGEST_LOADING))


def _beside_general(standard: Floats, general: Floats) -> tuple[Floats, float]:
    """Mean correlation of each example of a group with the others beyond the general factor; its noise."""
    products = _with_others(standard)
    expected = general * (general.sum() - general) / (len(general) - 1)
    mean = products.mean(axis=0) - expected
    products -= products.mean(axis=1, keepdims=True)
    return mean, float(products.var(axis=0).mean()) / (len(standard) - 1)


def _with_others(standard: Floats) -> Floats:
    """Product of each score with the mean of the model's others, shape (S, N)."""
    sums = standard.sum(axis=1, keepdims=True)
    return np.asarray(standard * ((sums - standard) / (standard.shape[1] - 1)))


def _scaled(drawn: Floats, common: float) -> Floats:
    """Loadings in these proportions whose mean product over pairs is `common`."""
    count = len(drawn)
    pairs = float(drawn.sum() ** 2 - (drawn**2).sum()) / (count * (count - 1))
    return drawn * np.sqrt(common / pairs) if pairs > 0 else np.zeros(count)


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
