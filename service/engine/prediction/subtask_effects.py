"""What examples of a kind have in common beyond ability: effects of difficulty, loading and subtask.

A poor model fails easy examples that every source model passes, and no linear prediction
from hard ones says so; nor do source models say how a new one does on examples that none
of them solves. An effect for each kind of example makes the design look at every kind.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.engine.prediction.shrinkage import Floats

_TENTHS = 10
_MOST_SUBTASKS = 128
_DIFFICULTY_PART, _LOADING_PART, _SUBTASK_PART = 0.15, 0.05, 0.05
"""Variance of effects as parts of the general factor's own."""


def effects(mean: Floats, general: Floats, groups: NDArray[np.integer] | None, spread: float) -> Floats:
    """Factor columns, one for each kind of example; shape (N, kinds).

    Parameters
    ----------
    mean : ndarray of float64, shape (N,)
        Mean scores.
    general : ndarray of float64, shape (N,)
        Loadings on the general factor, in units of scores.
    groups : ndarray of int, shape (N,), optional
        Subtasks, where they have an effect.
    spread : float
        Size of the general factor's own effect, in units of scores.
    """
    columns = [
        np.sqrt(_DIFFICULTY_PART) * spread * indicators(tenths(mean)),
        np.sqrt(_LOADING_PART) * spread * indicators(tenths(general)),
    ]
    if groups is not None:
        columns.append(np.sqrt(_SUBTASK_PART) * spread * indicators(groups))
    return np.hstack(columns)


def several(strata: NDArray[np.integer]) -> bool:
    """Whether there are subtasks, and few enough for each to have effects of its own."""
    return 0 < int(strata.max()) < _MOST_SUBTASKS


def tenths(values: Floats) -> NDArray[np.int64]:
    """Tenths of the examples by value, equal values together; shape (N,)."""
    edges = np.quantile(values, np.arange(1, _TENTHS) / _TENTHS, method="lower")
    return np.unique(np.searchsorted(edges, values, side="right"), return_inverse=True)[1].astype(np.int64)


def indicators(groups: NDArray[np.integer]) -> NDArray[np.bool_]:
    """One column for each group, shape (N, groups)."""
    return np.asarray(groups[:, None] == np.arange(groups.max() + 1))
