"""Mean and covariance of a new model's scores over the examples, from the source models.

Σ is the sample covariance shrunk towards a structured one (`shrinkage.intensity`): a
general factor and one factor for each subtask, with a loading for each example, and a
smaller effect for each range of difficulty, every part itself shrunk (`shrinkage`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.selection.base import Source
from service.engine.shrinkage import Floats, group_loadings, intensity, loadings, moments, standardise

_DIFFICULTIES = 10
_MOST_SUBTASKS = 128
_FEW_MODELS_INTENSITY = 0.9
# Variance of effects as parts of the general factor's own: of a difficulty, of a subtask.
_DIFFICULTY_PART, _SUBTASK_PART = 0.2, 0.05
# Part of the variance a subtask's factor explains among the sources that new models are trusted to show.
_SUBTASK_TRUST = 0.5
_LARGE = 1 << 19

CAUTION = 9.0
"""For choosing: the few examples with the largest loadings among many owe more to luck than
shrinkage allows for, since loadings err together, through the one factor they are loadings on."""
# The structure was estimated with the models that then judge it, left out one by one.
_JUDGES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """Mean and covariance of a model's scores over the examples: Σ = F·Fᵀ + diag(d).

    Attributes
    ----------
    mean : ndarray of float64, shape (N,)
    factor : ndarray of float64 or float32, shape (N, R)
        F; never larger than source models + groups.
    noise : ndarray of float64, shape (N,)
        d, above 0.
    intensity : float
        Weight of the structure against the sample covariance.
    """

    mean: Floats
    factor: NDArray[np.floating]
    noise: Floats
    intensity: float


def covariance(
    source: Source,
    observed: NDArray[np.bool_] | None = None,
    share: float | None = None,
    caution: float = 0.0,
) -> Covariance:
    """The estimated covariance.

    Parameters
    ----------
    source : Source
    observed : ndarray of bool, shape (S, N), optional
        False where a score is missing.
    share : float, optional
        The intensity, if it is known already.
    caution : float
        For choosing by it: see `loadings`.
    """
    scores = source.scores.astype(np.float64)
    if observed is not None:
        scores = _complete(scores, observed)
    known = moments(scores)
    deviation = np.sqrt(known.variance)
    standard, varied = standardise(scores)
    general = loadings(standard, varied, caution)
    subtasks = int(source.strata.max()) + 1
    own = np.zeros(len(general))
    if 1 < subtasks <= _MOST_SUBTASKS:
        own = group_loadings(standard, varied, general, source.strata, caution)
    structure = _structure(source.strata, known.mean, general * deviation, own * deviation)
    noise = (1 - general**2) * known.variance
    residuals = standard * deviation
    models = len(scores)
    if share is None:
        share = _FEW_MODELS_INTENSITY
        if models > 3 and varied.any():
            share = intensity(residuals[:, varied], structure[varied], noise[varied])
            share = 1 - (1 - share) * max(1 - _JUDGES / models, 0.0)
    factor = np.hstack((residuals.T * np.sqrt((1 - share) / models), structure * np.sqrt(share)))
    return Covariance(
        mean=known.mean,
        factor=factor.astype(np.float32) if factor.size > _LARGE else factor,
        noise=np.where(varied, share * noise, noise),
        intensity=share,
    )


def _structure(strata: NDArray[np.integer], mean: Floats, general: Floats, own: Floats) -> Floats:
    """Factor of the structured part: the general one, and one column for each group of examples.

    A poor model fails easy examples that every source model passes, and no linear
    prediction from hard ones says so: the difficulty effects make the design look.
    """
    spread = abs(float(general.mean()))
    tenths, subtasks = _indicators(difficulties(mean)), _indicators(strata)
    columns = [general[:, None], np.sqrt(_DIFFICULTY_PART) * spread * tenths]
    if own.any():
        columns += [np.sqrt(_SUBTASK_TRUST) * own[:, None] * subtasks]
        columns += [np.sqrt(_SUBTASK_PART) * spread * subtasks]
    factor = np.hstack(columns)
    return np.asarray(factor[:, factor.any(axis=0)])


def difficulties(mean: Floats) -> NDArray[np.int64]:
    """Tenths of the examples by mean score, equal means together; shape (N,)."""
    edges = np.quantile(mean, np.arange(1, _DIFFICULTIES) / _DIFFICULTIES, method="lower")
    return np.unique(np.searchsorted(edges, mean, side="right"), return_inverse=True)[1].astype(np.int64)


def _indicators(groups: NDArray[np.integer]) -> NDArray[np.bool_]:
    return np.asarray(groups[:, None] == np.arange(groups.max() + 1))


def _complete(scores: Floats, observed: NDArray[np.bool_]) -> Floats:
    """Missing cells by two-way means of the observed ones."""
    seen = np.where(observed, scores, 0.0)
    grand = float(seen.sum()) / max(int(observed.sum()), 1)
    centred = np.where(observed, scores - grand, 0.0)
    examples = centred.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    centred = np.where(observed, centred - examples, 0.0)
    models = centred.sum(axis=1) / np.maximum(observed.sum(axis=1), 1)
    return np.asarray(np.where(observed, scores, np.clip(grand + examples + models[:, None], 0, 1)))
