"""Item–rest correlations, which are negative for examples that are likely mislabelled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from service.engine.data.matrix import Matrix

LEAST_MODELS = 8
"""Fewer models give no evidence on single examples."""

FALSE_ALARMS = 0.05
"""False discovery rate: accepted share of false alarms among the doubtful examples."""

_BLOCK = 256
"""Examples per block, so that a block fits into the cache."""
_FLAT = 1e-11
"""Variances below this share of the second moment are rounding errors."""

Floats = NDArray[np.float64]


def item_rest(matrix: Matrix) -> Floats:
    """Correlation over models of each example's score with the mean of the model's others.

    Returns
    -------
    ndarray, shape (N,)
        Pearson's r over the models with a score on it and on another example; NaN where either variable
        is constant.
    """
    if matrix.missing is None:
        asked = np.full(len(matrix.models), len(matrix.examples))
    else:
        asked = (~matrix.missing).sum(axis=1)
    kept = asked > 1
    b = 1 / (asked[kept] - 1)
    # The mean of the others of cell (i, j) is a_i - b_i x_ij, so every sum over models is a matrix product.
    a = b * matrix.sums[kept]
    scores = matrix.scores if kept.all() else matrix.scores[kept]
    found = np.empty(len(matrix.examples))
    for start in range(0, len(found), _BLOCK):
        block = slice(start, start + _BLOCK)
        x = scores[:, block].astype(np.float64)
        xx = x if matrix.binary else x * x
        if matrix.missing is None:
            found[block] = _complete(x, xx, a, b)
        else:
            found[block] = _correlation(*_sums(x, xx, a, b, ~matrix.missing[kept, block]))
    return found


def _complete(x: Floats, xx: Floats, a: Floats, b: Floats) -> Floats:
    """`_correlation` of the sums for complete scores, where b is the same for all models."""
    if not len(a):
        return np.full(x.shape[1], np.nan)
    sx, xa = np.stack((np.ones_like(a), a)) @ x
    sxx = sx if xx is x else xx.sum(axis=0)
    each = float(b[0])
    sy, sxy = a.sum() - each * sx, xa - each * sxx
    syy = (a * a).sum() - 2 * each * xa + each**2 * sxx
    n, largest = np.full((2, len(sx)), [[float(len(a))], [(a * a).sum()]])
    return _correlation(n, sx, sy, sxx, sxy, syy, largest)


def _sums(x: Floats, xx: Floats, a: Floats, b: Floats, present: NDArray[np.bool_]) -> tuple[Floats, ...]:
    """N and the sums of x, y, x², xy and y² by column, where y = a - b x, over the models without missing
    cells.

    x is 0 in missing cells.
    """
    one = np.ones_like(a)
    n, pa, paa = np.stack((one, a, a * a)) @ present.astype(np.float64)
    sx, xa, xb, xab = np.stack((one, a, b, a * b)) @ x
    sxx, xxb, xxbb = np.stack((one, b, b * b)) @ xx
    return n, sx, pa - xb, sxx, xa - xxb, paa - 2 * xab + xxbb, paa


def _correlation(
    n: Floats, sx: Floats, sy: Floats, sxx: Floats, sxy: Floats, syy: Floats, largest: Floats
) -> Floats:
    """Correlation from sums; `largest` is the sum of y² before subtractions, which sets the scale of
    rounding.
    """
    vx, vy = n * sxx - sx * sx, n * syy - sy * sy
    # The product underflows to 0 where all scores are below about 1e-77.
    defined = (vx > _FLAT * n * sxx) & (vy > _FLAT * n * largest) & (vx * vy > 0)
    size = np.sqrt(np.where(defined, vx * vy, 1.0))
    return np.where(defined, (n * sxy - sx * sy) / size, np.nan)


def doubtful(matrix: Matrix, correlations: Floats) -> NDArray[np.intp]:
    """Examples that better models get wrong more often, which are likely mislabelled; the worst first.

    Those whose correlation is significantly below 0, at a false discovery rate of `RATE` (Benjamini &
    Hochberg 1995).

    Parameters
    ----------
    matrix : Matrix
        An example is never doubtful if fewer than eight models have a score on it and on another example.
    correlations : ndarray, shape (N,)
        Result of `item_rest`.
    """
    n = np.full(len(correlations), len(matrix.models))
    if matrix.missing is not None:
        present = ~matrix.missing
        n = present[present.sum(axis=1) > 1].sum(axis=0)
    usable = np.flatnonzero(np.isfinite(correlations) & (n >= LEAST_MODELS))
    r, freedom = np.clip(correlations[usable], -1 + 1e-12, 1 - 1e-12), n[usable] - 2
    steps, tests = r * np.sqrt(freedom / (1 - r**2)), len(usable)
    low = steps <= stats.norm.ppf(FALSE_ALARMS)  # above this, p exceeds every threshold
    usable, p = usable[low], stats.t.cdf(steps[low], freedom[low])
    order = np.argsort(p, kind="stable")
    passing = np.flatnonzero(p[order] <= FALSE_ALARMS * np.arange(1, len(p) + 1) / max(tests, 1))
    return np.asarray(usable[order[: passing[-1] + 1]] if passing.size else usable[:0])
