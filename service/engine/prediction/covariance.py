"""Mean and covariance of a new model's scores over the examples, from the source models.

Σ is the sample covariance shrunk towards a structured one (`shrinkage.intensity`): a
general factor and one factor for each subtask, with a loading for each example, and
smaller effects of what examples of a kind share (`effects`), every part itself shrunk
(`shrinkage`). `plain` is what is left when single examples are not told apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import Source
from service.engine.prediction.shrinkage import (
    Floats,
    group_loadings,
    intensity,
    loadings,
    moments,
    standardise,
)
from service.engine.prediction.subtask_effects import effects, indicators, several

_FEW_MODELS_INTENSITY = 0.9
# Part of the variance a subtask's factor explains among the sources that new models are trusted to show.
_SUBTASK_TRUST = 0.5
_LARGE = 1 << 19
_LEAST_NOISE = 1e-6

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

    @property
    def variance(self) -> Floats:
        """Of each example's score, shape (N,)."""
        squares: Floats = np.einsum("jr,jr->j", self.factor, self.factor, dtype=np.float64)
        return squares + self.noise


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
        scores = complete(scores, observed)
    known = moments(scores)
    deviation = np.sqrt(known.variance)
    standard, varied = standardise(scores)
    general = loadings(standard, varied, caution)
    own = np.zeros(len(general))
    if several(source.strata):
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


def plain(source: Source) -> Covariance:
    """The covariance of examples that differ in nothing but their kinds, which differ more.

    One variance, one loading, and effects of kinds with twice the variance, in terms of the
    loadings' mean square: what is safe to say where source models are few.
    """
    scores = source.scores.astype(np.float64)
    known = moments(scores)
    general = loadings(*standardise(scores)) * np.sqrt(known.variance)
    spread, shared = float(np.sqrt((general**2).mean())), abs(float(general.mean()))
    groups = source.strata if several(source.strata) else None
    kinds = np.sqrt(2) * effects(known.mean, general, groups, spread)
    noise = max(float(known.variance.mean()) - shared**2, _LEAST_NOISE)
    return Covariance(
        mean=known.mean,
        factor=np.hstack((np.full((len(general), 1), shared), kinds)),
        noise=np.full(len(general), noise),
        intensity=1.0,
    )


def _structure(strata: NDArray[np.integer], mean: Floats, general: Floats, own: Floats) -> Floats:
    """Factor of the structured part: the general one, those of subtasks, and effects of kinds of examples."""
    groups = strata if own.any() else None
    columns = [general[:, None], effects(mean, general, groups, abs(float(general.mean())))]
    if groups is not None:
        columns += [np.sqrt(_SUBTASK_TRUST) * own[:, None] * indicators(groups)]
    factor = np.hstack(columns)
    return np.asarray(factor[:, factor.any(axis=0)])


def complete(scores: Floats, observed: NDArray[np.bool_]) -> Floats:
    """Missing cells by two-way means of the observed ones."""
    seen = np.where(observed, scores, 0.0)
    grand = float(seen.sum()) / max(int(observed.sum()), 1)
    centred = np.where(observed, scores - grand, 0.0)
    examples = centred.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    centred = np.where(observed, centred - examples, 0.0)
    models = centred.sum(axis=1) / np.maximum(observed.sum(axis=1), 1)
    return np.asarray(np.where(observed, scores, np.clip(grand + examples + models[:, None], 0, 1)))
