"""Full scores from a probability sample, with the help of a model but without trusting it.

The sample's own errors correct the model's predictions, so the estimate is unbiased over
samples, and its interval holds, whatever the model under test is; a good prediction only
makes it narrower (Särndal et al. 1992; augmented inverse probability weighting). Every
answer is predicted from the other answers only (leave-one-out), so no answer corrects itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import logit
from scipy.stats import t as student

from service.engine.prediction.ability_model import AbilityModel
from service.engine.prediction.ability_prior import log_prior
from service.engine.prediction.shrinkage import Floats

_SLOPE_FACTOR, _COMMON_FACTOR, _BASELINE_FACTOR = 3.0, 0.1, 0.35
_LEAST_SQUARES = 0.25
"""Added to the sum of squared errors: a sample without an error is not without doubt."""
_FITTED = 3
"""Degrees of freedom that the fit of ability and level takes beyond the mean."""


@dataclass(frozen=True, slots=True, eq=False)
class AssistedEstimate:
    """Full scores of T models, arrays of shape (T,).

    Attributes
    ----------
    score, error : ndarray
        Estimates and their standard errors over samples.
    freedom : int
        Of Student's t for the interval.
    low, high : ndarray
        What the answers leave possible.
    coefficients : ndarray, shape (T, n)
        Weight of each answer in the estimate, for the noise of repeated runs.
    """

    score: Floats
    error: Floats
    freedom: int
    low: Floats
    high: Floats
    coefficients: Floats

    def interval(self, level: float = 0.9, run_noise: Floats | None = None) -> Floats:
        """Lower and upper ends, shape (T, 2), that cover the full scores with probability `level`.

        `run_noise`, (n,) or (T, n): variance of each answer over repeated runs, where other runs are meant.
        """
        variance = self.error**2
        if run_noise is not None:
            variance = variance + (self.coefficients**2 * run_noise).sum(axis=1)
        half = student.ppf((1 + level) / 2, self.freedom) * np.sqrt(variance)
        return np.stack(
            (np.maximum(self.score - half, self.low), np.minimum(self.score + half, self.high)), axis=1
        )


def assisted_scores(
    model: AbilityModel,
    indices: NDArray[np.integer],
    answers: Floats,
    inclusion: Floats,
    baseline: Floats | None = None,
) -> AssistedEstimate:
    """Model-assisted estimates.

    Parameters
    ----------
    model : AbilityModel
    indices : ndarray of int, shape (n,)
        The examples answered: a sample with the probabilities `inclusion`, and those chosen for certain.
    answers : ndarray of float64, shape (T, n)
        In [0, 1].
    inclusion : ndarray of float64, shape (n,)
        Probability of each to be in the sample, in (0, 1]; 1 for those chosen for certain.
    baseline : ndarray of float64, shape (N,), optional
        A model's scores on every example: what the models under test share with it is learnt.
    """
    estimates = [_assisted(model, indices, row, inclusion, baseline) for row in answers]
    score, error, coefficients = (np.array(column) for column in zip(*estimates, strict=True))
    total = answers.sum(axis=1) / model.mean.shape[1]
    high = total + 1 - len(indices) / model.mean.shape[1]
    sampled = int((inclusion < 1).sum())
    freedom = max(sampled - 1 - _FITTED, 1)
    return AssistedEstimate(np.clip(score, total, high), error, freedom, total, high, coefficients)


def predict_examples(
    model: AbilityModel, indices: NDArray[np.integer], answers: Floats, baseline: Floats | None = None
) -> tuple[Floats, Floats]:
    """Every example's predicted score, (N,), and the errors of leave-one-out predictions, (n,), of one model.

    Best linear prediction at the most likely ability, with the ability's own error, a level
    common to all examples and, where given, what the model shares with a baseline as factors.
    """
    at = _nearest_ability(model, indices, answers)
    s, mean = model.deviation[at], model.mean[at]
    factors = [
        _SLOPE_FACTOR * model.slope[at][:, None],
        np.full((len(s), 1), _COMMON_FACTOR),
        s[:, None] * model.residual,
        model.leverage[at][:, None] * model.kinds,
    ]
    if baseline is not None:
        factors.append(_BASELINE_FACTOR * (baseline - mean_at_score(model, baseline))[:, None])
    factor = np.hstack(factors).astype(np.float64)
    chosen = factor[indices]
    solved, diagonal = inverse_times(chosen, model.noise * s[indices] ** 2, answers - mean[indices])
    predicted = np.clip(mean + factor @ (chosen.T @ solved), 0, 1)
    left_out = np.clip(answers - solved / diagonal, 0, 1)
    return predicted, answers - left_out


def inverse_times(factor: Floats, noise: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """(F·Fᵀ + D)⁻¹ times the errors, and the inverse's diagonal, (n,) each, by the smaller of two systems."""
    answers, rank = factor.shape
    if answers <= rank:
        inverse = np.linalg.inv(factor @ factor.T + np.diag(noise))
        return inverse @ errors, np.diag(inverse)
    scaled = factor / noise[:, None]
    lower = np.linalg.cholesky(np.eye(rank) + factor.T @ scaled)
    half = solve_triangular(lower, scaled.T, lower=True)
    return errors / noise - half.T @ (half @ errors), 1 / noise - (half**2).sum(axis=0)


def _nearest_ability(model: AbilityModel, indices: NDArray[np.integer], answers: Floats) -> int:
    """Place on the grid of the posterior mean ability, answers taken for independent given ability."""
    p = model.mean[:, indices]
    logs = np.log(p) @ answers + np.log(1 - p) @ (1 - answers) + log_prior(model.grid, model.models, "like")
    weights = np.exp(logs - logs.max()) * np.gradient(model.grid)
    return int(np.argmin(np.abs(model.grid - weights @ model.grid / weights.sum())))


def mean_at_score(model: AbilityModel, scores: Floats) -> Floats:
    """P at the ability that a model's full score stands for, shape (N,)."""
    examples = len(scores)
    level = logit((scores.sum() + 0.5) / (examples + 1))
    ability = (level - model.ability.location) / model.ability.scale
    return np.asarray(model.mean[int(np.argmin(np.abs(model.grid - ability)))])


def _assisted(
    model: AbilityModel,
    indices: NDArray[np.integer],
    answers: Floats,
    inclusion: Floats,
    baseline: Floats | None,
) -> tuple[float, float, Floats]:
    """Estimate, standard error and the weight of each answer, (n,), for one model.

    Hájek's mean of the errors over the part that the sample was drawn from.
    """
    examples = model.mean.shape[1]
    sampled = inclusion < 1
    count, certain = int(sampled.sum()), int((~sampled).sum())
    if certain == examples:
        return float(answers.mean()), 0.0, np.full(examples, 1 / examples)
    part = (examples - certain) / examples
    rest = np.ones(examples, dtype=bool)
    rest[indices] = False
    predicted, errors = predict_examples(model, indices, answers, baseline)
    drawn, errors = inclusion[sampled], errors[sampled]
    weights = 1 / drawn / (1 / drawn).sum()
    correction = float(weights @ errors)
    total = answers.sum() - errors.sum() + predicted[rest].sum()
    squares = float(((1 - drawn) * (weights * (errors - correction)) ** 2).sum()) * count / max(count - 1, 1)
    variance = squares + _LEAST_SQUARES * (1 - count / (examples - certain)) / count**2
    coefficients = np.full(len(answers), 1 / examples)
    coefficients[sampled] = part * weights
    return float(total / examples + part * correction), part * float(np.sqrt(variance)), coefficients
