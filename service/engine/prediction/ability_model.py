"""What the source models say of a new model's scores, given its ability: mean p(θ) and covariance K(θ).

    K(θ) = s(R·Rᵀ + λI)s + A² v·Q·Qᵀ·v,      s² = φ v,  v = p(1 − p)

with the residuals R of the source models about their curves, effects Q of kinds of examples
(tenths by difficulty and by slope, subtasks), and A growing beyond the sources' abilities.
There the curves go on with slopes drawn to their mean, since differences between slopes
are what the sources cannot say of an ability that none of them has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import Source
from service.engine.prediction.covariance import Covariance, complete
from service.engine.prediction.near_copies import representatives
from service.engine.prediction.response_curves import (
    AbilityScale,
    ResponseCurves,
    ability_scale,
    fit_curves,
    probability,
)
from service.engine.prediction.shrinkage import Floats, group_loadings, intensity
from service.engine.prediction.subtask_effects import indicators, several, tenths

FEW_MODELS = 10
_DIFFICULTY_PART, _SLOPE_PART, _SUBTASK_PART = 0.3, 0.1, 0.1
"""Variance of effects of kinds, as parts of the mean slope's square."""
_SUBTASK_TRUST = 0.5
_SLOPES_DRAWN = 0.6
"""How far slopes are drawn to their mean beyond the sources."""
_FADING = 3.0
_LARGEST_RESIDUAL = 4.0
_FEW_MODELS_INTENSITY, _JUDGES = 0.9, 5
_LARGE, _LARGE_FACTOR = 1 << 19, 1 << 17
"""Numbers beyond which single precision is enough, and half the memory."""


@dataclass(frozen=True, slots=True, eq=False)
class AbilityModel:
    """Moments of a new model's scores on N examples at each of G abilities.

    Attributes
    ----------
    ability : AbilityScale
        Of the source models, near copies counted once.
    models : int
        Effective number of source models.
    grid : ndarray of float64, shape (G,)
        Abilities, ascending.
    mean, slope, deviation : ndarray of float64, shape (G, N)
        p, dp/dθ and s.
    residual : ndarray of float64 or float32, shape (N, R)
        R: residuals and factors of subtasks, in units of s.
    kinds : ndarray of float64, shape (N, K)
        Q: effects on the logit.
    amplification : ndarray of float64, shape (G,)
        A.
    beyond : ndarray of float64, shape (G,)
        Distance from the sources' abilities, 0 within them.
    noise : float
        λ: part of s² that each example has to itself.
    dispersion : float
        φ on average: 1 for 0/1 scores.
    reliability : float
        Share of the variance of the source models' scores that is not the luck of single answers.
    """

    ability: AbilityScale
    models: int
    grid: Floats
    mean: Floats
    slope: Floats
    deviation: Floats
    residual: NDArray[np.floating]
    kinds: Floats
    amplification: Floats
    beyond: Floats
    noise: float
    dispersion: float
    reliability: float

    @property
    def leverage(self) -> Floats:
        """A·v: change of each score with an effect on its logit, amplified, shape (G, N)."""
        return np.asarray(self.amplification[:, None] * self.mean * (1 - self.mean))

    @property
    def cells(self) -> int:
        """What it weighs in memory, in numbers."""
        return 3 * self.mean.size + self.residual.size + self.kinds.size

    def at(self, ability: float) -> Covariance:
        """Mean and covariance at the nearest ability of the grid, what ability is unknown included."""
        g = int(np.argmin(np.abs(self.grid - ability)))
        s = self.deviation[g][:, None]
        columns = (
            self.slope[g][:, None],
            s * self.residual,
            self.leverage[g][:, None] * self.kinds,
        )
        factor = np.hstack(columns)
        return Covariance(
            mean=self.mean[g],
            factor=factor.astype(np.float32) if factor.size > _LARGE_FACTOR else factor,
            noise=self.noise * self.deviation[g] ** 2,
            intensity=self.noise,
        )


def fit_ability_model(source: Source, observed: NDArray[np.bool_] | None = None) -> AbilityModel:
    """Learn from the source models.

    Parameters
    ----------
    source : Source
        At least one model; scores 0/1 or graded.
    observed : ndarray of bool, shape (S, N), optional
        False where a score is missing.
    """
    scores = source.scores.astype(np.float64)
    if observed is not None:
        scores = complete(scores, observed)
    # In an order of their own: rounding must not depend on how models are called.
    order = np.array(sorted(range(len(scores)), key=lambda row: scores[row].tobytes()))
    scores, observed = scores[order], None if observed is None else observed[order]
    kept = representatives(scores)
    scores, observed = scores[kept], None if observed is None else observed[kept]
    scale = ability_scale(scores)
    curves = fit_curves(scores, scale.abilities, observed)
    standard, size = _standard_residuals(scores, scale.abilities, curves, observed)
    grid = ability_grid(scale)
    inner = np.clip(grid, scale.abilities.min(), scale.abilities.max())
    shift = _shift(curves, scale.abilities, float(scores.mean()))
    mean = _means(curves, scale, grid, inner, shift)
    slope = np.maximum(float(curves.parameters[:, 1].mean()), 0.1)
    kinds = _kinds(curves.parameters, source.strata, float(slope))
    subtasks = _subtask_factors(standard, source.strata)
    noise = _noise(standard, kinds, subtasks, size, scale.abilities, curves)
    beyond = np.abs(grid - inner)
    return AbilityModel(
        ability=scale,
        models=len(scores),
        grid=grid,
        mean=mean,
        slope=np.gradient(mean, grid, axis=0),
        deviation=size * np.sqrt(mean * (1 - mean)),
        residual=_residual(standard, subtasks, noise),
        kinds=kinds,
        amplification=1 + beyond * max(1.0, scale.scale / float(slope)),
        beyond=beyond,
        noise=noise,
        dispersion=curves.dispersion,
        reliability=_reliability(scores),
    )


def _reliability(scores: Floats) -> float:
    """Hoyt's: 1 − residual / between-model mean square of the two-way layout; 1 for a single model."""
    models, examples = scores.shape
    means = scores.mean(axis=1)
    between = float(means.var())
    if models < 2 or between == 0:
        return float(models < 2)
    residual = scores - means[:, None] - scores.mean(axis=0) + scores.mean()
    noise = float((residual**2).sum()) / max((models - 1) * (examples - 1), 1) / examples
    return float(max(1 - noise * (models - 1) / models / between, 0.0))


def ability_grid(scale: AbilityScale) -> Floats:
    """Abilities from a score of .011 to one of .989 and from −6 to 8 at the least; dense in the middle."""
    low = float(np.clip((-4.5 - scale.location) / scale.scale, -40, -6))
    high = float(np.clip((4.5 - scale.location) / scale.scale, 8, 40))
    middle = np.arange(-5, 6.01, 0.5)
    above = middle[-1] + (high - middle[-1]) * np.linspace(0, 1, 13)[1:] ** 1.3
    below = middle[0] - (middle[0] - low) * np.linspace(0, 1, 8)[1:] ** 1.3
    return np.concatenate((below[::-1], middle, above))


def _means(curves: ResponseCurves, scale: AbilityScale, grid: Floats, inner: Floats, shift: float) -> Floats:
    """P at each ability, shape (G, N); beyond the sources it goes on from the edge."""
    outside = grid - inner
    edges, place = np.unique(inner, return_inverse=True)
    logits = curves.logits(edges, predictive=True)[place]
    logits += (shift * np.exp(-_FADING * np.abs(outside)))[:, None]
    slopes = curves.parameters[:, 1]
    common = max(float(slopes.mean()), scale.scale)
    drawn = (1 - _SLOPES_DRAWN) * np.maximum(slopes, 0) + _SLOPES_DRAWN * common
    return probability(logits + outside[:, None] * drawn)


def _shift(curves: ResponseCurves, abilities: Floats, target: float) -> float:
    """What to add to all logits for the mean of p over the sources to be the mean of their scores."""
    logits = curves.logits(abilities, predictive=True)
    shift = 0.0
    for _ in range(8):
        p = probability(logits + shift)
        step = (target - float(p.mean())) / max(float((p * (1 - p)).mean()), 1e-6)
        shift += step
        if abs(step) < 1e-6:
            break
    return shift


def _standard_residuals(
    scores: Floats, abilities: Floats, curves: ResponseCurves, observed: NDArray[np.bool_] | None
) -> tuple[Floats, Floats]:
    """Residuals about the curves with mean 0 and variance 1 at most, (S, N), and √φ of each example, (N,)."""
    p = probability(curves.logits(abilities, predictive=False))
    residuals = (scores - p) / np.sqrt(curves.dispersion * p * (1 - p))
    np.clip(residuals, -_LARGEST_RESIDUAL, _LARGEST_RESIDUAL, out=residuals)
    residuals -= residuals.mean(axis=0)
    if observed is not None:
        residuals *= observed
    scale = np.sqrt(0.5 * residuals.var(axis=0) + 0.5)
    residuals /= scale
    graded = curves.dispersion < 1
    size = np.sqrt(curves.dispersion) * (scale if graded else np.ones_like(scale))
    return residuals, size


def _kinds(parameters: Floats, strata: NDArray[np.integer], slope: float) -> Floats:
    columns = [
        np.sqrt(_DIFFICULTY_PART) * slope * indicators(tenths(parameters[:, 0])),
        np.sqrt(_SLOPE_PART) * slope * indicators(tenths(parameters[:, 1])),
    ]
    if several(strata):
        columns.append(np.sqrt(_SUBTASK_PART) * slope * indicators(strata))
    return np.hstack(columns)


def _subtask_factors(standard: Floats, strata: NDArray[np.integer]) -> Floats:
    """One factor for each subtask that the residuals show, in units of s; shape (N, subtasks) or (N, 0)."""
    nothing = np.zeros((standard.shape[1], 0))
    if not several(strata) or len(standard) < 3:
        return nothing
    varied = standard.std(axis=0) > 1e-9
    own = group_loadings(standard, varied, np.zeros(len(varied)), strata)
    return own[:, None] * indicators(strata) * np.sqrt(_SUBTASK_TRUST) if own.any() else nothing


def _noise(
    standard: Floats,
    kinds: Floats,
    subtasks: Floats,
    size: Floats,
    abilities: Floats,
    curves: ResponseCurves,
) -> float:
    """λ: the shrinkage intensity under which source models left out are most likely."""
    models = len(standard)
    if models <= 3:
        return 1 - (1 - _FEW_MODELS_INTENSITY) * max(1 - _JUDGES / models, 0.0)
    p = probability(curves.logits(abilities, predictive=False))
    typical = np.sqrt(np.maximum(p * (1 - p), 1e-4)).mean(axis=0) / size
    factor = np.hstack((kinds * typical[:, None], subtasks))
    share = intensity(standard, factor, np.ones(len(typical)))
    return 1 - (1 - share) * max(1 - _JUDGES / models, 0.0)


def _residual(standard: Floats, subtasks: Floats, noise: float) -> NDArray[np.floating]:
    weight = np.sqrt((1 - noise) / len(standard)) if noise < 1 else 0.0
    factor = np.hstack((standard.T * weight, subtasks * np.sqrt(noise)))
    return factor.astype(np.float32) if factor.size > _LARGE else factor
