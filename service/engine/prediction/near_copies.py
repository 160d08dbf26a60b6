"""Source models that are near copies of each other, which say little more than one of them.

Two models are near copies when they agree far above what their scores and the examples'
difficulties explain: what is left of their answers is nearly the same. Models that fail
everything agree too, but their scores explain it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from service.engine.prediction.shrinkage import Floats

NEAR = 0.6
"""Correlation of residuals from which two models count as near copies."""
_SURE = (0.02, 0.98)
"""No answer is expected more surely."""
_LEAST_EXAMPLES = 20
_LEAST_MODELS = 3


def copy_groups(scores: Floats) -> NDArray[np.int64]:
    """Group of each model, shape (S,); near copies share one, numbered by first appearance.

    Parameters
    ----------
    scores : ndarray of float64, shape (S, N)
        Complete, in [0, 1].
    """
    models, examples = scores.shape
    if models < _LEAST_MODELS or examples < _LEAST_EXAMPLES:
        return np.arange(models)
    expected = np.clip(scores.mean(axis=1, keepdims=True) + scores.mean(axis=0) - scores.mean(), *_SURE)
    residuals = (scores - expected).astype(np.float32)
    squares, usual = np.einsum("sj,sj->s", residuals, residuals), (expected * (1 - expected)).sum(axis=1)
    dispersion = float(squares.sum() / usual.sum())
    residuals /= np.sqrt(np.maximum(squares, min(dispersion, 1.0) * usual) + 1e-6)[:, None]
    near = csr_array(residuals @ residuals.T > NEAR)
    groups: NDArray[np.int64] = connected_components(near, directed=False)[1].astype(np.int64)
    return groups


def representatives(scores: Floats) -> NDArray[np.int64]:
    """One model of each group of near copies, the one nearest the group's mean; ascending rows."""
    groups = copy_groups(scores)
    sizes = np.bincount(groups)
    kept = np.flatnonzero(sizes[groups] == 1).tolist()
    for group in np.flatnonzero(sizes > 1):
        rows = np.flatnonzero(groups == group)
        apart = ((scores[rows] - scores[rows].mean(axis=0)) ** 2).sum(axis=1)
        kept.append(int(rows[np.argmin(apart)]))
    return np.sort(np.array(kept, dtype=np.int64))
