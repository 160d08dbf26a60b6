"""Full scores from answers on any subset: best linear prediction given ability, averaged over ability.

With C the subset, x the answers on it, z = (x − p_C)/s_C and the rest of the examples r,
all at one ability θ:

    quasi-score   q(θ) = (p′_C/s_C)ᵀ V⁻¹ z,       V = R_C·R_Cᵀ + λI + U·Uᵀ,   U = A v_C·Q_C/s_C
    estimate      [Σx + Σ_r p + tᵀ V⁻¹ z]/N,       t = R_C·Σ_r s·R + U·Σ_r A v·Q
    weight        w(θ) ∝ prior(θ) · exp ∫ q dθ

V differs between abilities only by the few columns of U, so one Cholesky decomposition of
R_C·R_Cᵀ + λI serves them all. Between the abilities of the grid q and the estimates are
interpolated, so that a long subset, which tells ability more finely than the grid, is not
held back by it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import norm

from service.engine.prediction.ability_model import AbilityModel
from service.engine.prediction.ability_prior import Expect, log_prior
from service.engine.prediction.shrinkage import Floats

_FINER = 6
"""Interpolated abilities for each of the grid."""
_INFLATION, _GRADED_INFLATION = 1.3, 1.6
"""Of the variance: errors have heavier tails than the model, and graded scores more so (measured)."""
_ABOVE, _BELOW = 0.25, 0.6
"""Standard deviation of how far off the step beyond the sources is, as a part of it."""
_FEW_SOURCES = 8
"""Source models with whom the square of that part is twice what it is with many."""


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Full scores of T models, each array of shape (T,) unless said otherwise.

    Attributes
    ----------
    score : ndarray
        Estimates, in [0, 1].
    variance : ndarray
        Of their errors within the sources' abilities, with an allowance for heavy tails.
    reach : ndarray
        How much of the score rests on going on beyond the sources' abilities, more with few of
        them; signed as the ability.
    low, high : ndarray
        What the answers leave possible.
    ability, beyond : ndarray
        Mean ability in standard deviations of the sources, and its mean distance from their range.
    coefficients : ndarray, shape (T, n)
        Change of the estimate with each answer, linearised.
    """

    score: Floats
    variance: Floats
    reach: Floats
    low: Floats
    high: Floats
    ability: Floats
    beyond: Floats
    coefficients: Floats

    @property
    def unsure_reach(self) -> Floats:
        """Standard deviation of the step beyond the sources, signed as the ability, shape (T,)."""
        return np.where(self.ability > 0, _ABOVE, _BELOW) * self.reach

    def deviation(self, run_noise: Floats | None = None) -> Floats:
        """Standard deviations behind the intervals, shape (T,).

        Parameters
        ----------
        run_noise : ndarray of float64, shape (n,) or (T, n), optional
            Variance of each answer over repeated runs, added when scores of other runs are meant too.
        """
        variance = self.variance + self.unsure_reach**2
        if run_noise is not None:
            variance = variance + (self.coefficients**2 * run_noise).sum(axis=1)
        return np.asarray(np.sqrt(variance))

    def interval(self, level: float = 0.9, run_noise: Floats | None = None) -> Floats:
        """Lower and upper ends, shape (T, 2), that cover the full scores with probability `level`."""
        half = norm.ppf((1 + level) / 2) * self.deviation(run_noise)
        return np.stack(
            (np.maximum(self.score - half, self.low), np.minimum(self.score + half, self.high)), axis=1
        )


class AbilityPredictor:
    """Predicts full scores from answers on one subset.

    Parameters
    ----------
    model : AbilityModel
    indices : ndarray of int, shape (n,)
        Distinct examples, n ≥ 1.
    expect : {"like", "better"}
        Prior of the ability.
    """

    def __init__(self, model: AbilityModel, indices: NDArray[np.integer], expect: Expect = "like") -> None:
        self._model, self._indices = model, indices
        self._examples = model.mean.shape[1]
        self._unsure = float(np.sqrt(1 + _FEW_SOURCES / model.models))
        self._inflation = _INFLATION if model.dispersion == 1 else _GRADED_INFLATION
        self._prior = log_prior(model.grid, model.models, expect)
        self._prepare()

    def _prepare(self) -> None:
        """Everything that does not depend on answers."""
        model, chosen = self._model, self._indices
        rest = np.ones(self._examples, dtype=bool)
        rest[chosen] = False
        s, factor = model.deviation[:, chosen], model.residual[chosen].astype(np.float64)
        kinds, rest_s, leverage = model.kinds[chosen], np.where(rest, model.deviation, 0.0), model.leverage
        shared = (rest_s.astype(model.residual.dtype) @ model.residual).astype(np.float64)
        effects = np.where(rest, leverage, 0.0) @ model.kinds
        columns = (leverage[:, chosen] / s)[:, :, None] * kinds
        target = shared @ factor.T + np.einsum("gnk,gk->gn", columns, effects)
        right = np.concatenate(
            (columns, (model.slope[:, chosen] / s)[:, :, None], target[:, :, None]), axis=2
        )
        solved = self._without_kinds(factor, right)
        inner = np.eye(kinds.shape[1]) + np.einsum("gnk,gnl->gkl", columns, solved[:, :, :-2])
        cross = np.einsum("gnk,gnl->gkl", columns, solved[:, :, -2:])
        weights = solved[:, :, -2:] - solved[:, :, :-2] @ np.linalg.solve(inner, cross)
        self._scores, self._weights = weights[:, :, 0] / s, weights[:, :, 1] / s
        self._mean, self._rest_mean = (
            model.mean[:, chosen],
            model.mean.sum(axis=1) - model.mean[:, chosen].sum(axis=1),
        )
        explained = np.einsum("gn,gn->g", target, weights[:, :, 1])
        unexplained = (shared**2).sum(axis=1) + (effects**2).sum(axis=1) - explained
        self._variance = np.maximum(unexplained, 0) + model.noise * (rest_s**2).sum(axis=1)
        self._rest_slope = np.where(rest, model.slope, 0.0).sum(axis=1)

    def _without_kinds(self, factor: Floats, right: Floats) -> Floats:
        """(R·Rᵀ + λI)⁻¹ times the columns of every ability, by the smaller of two systems."""
        noise, (n, rank) = self._model.noise, factor.shape
        flat = right.transpose(1, 0, 2).reshape(n, -1)
        if n <= rank:
            found = cho_solve(cho_factor(factor @ factor.T + noise * np.eye(n)), flat)
        else:
            inner = cho_factor(factor.T @ factor + noise * np.eye(rank))
            found = (flat - factor @ cho_solve(inner, factor.T @ flat)) / noise
        return np.asarray(found.reshape(n, len(right), -1).transpose(1, 0, 2))

    def predict(self, answers: Floats) -> Prediction:
        """Full scores from answers in [0, 1], shape (T, n), in the order of the subset."""
        total = answers.sum(axis=1) / self._examples
        apart = (
            answers.sum(axis=1)[:, None] + self._rest_mean - np.einsum("gn,gn->g", self._weights, self._mean)
        )
        at = (apart + answers @ self._weights.T) / self._examples
        high = total + (1 - len(self._indices) / self._examples)
        at = np.clip(at, total[:, None], high[:, None])
        quasi = answers @ self._scores.T - np.einsum("gn,gn->g", self._scores, self._mean)
        fine, mix = _finer(self._model.grid)
        weights = self._posterior(quasi @ mix.T, fine)
        estimates = at @ mix.T
        score = np.clip((weights * estimates).sum(axis=1), total, high)
        off = estimates - score[:, None]
        beyond = np.interp(fine, self._model.grid, self._model.beyond)
        variance = (weights * off**2).sum(axis=1) + weights @ (mix @ self._variance) / self._examples**2
        step = weights @ (mix @ self._rest_slope) / self._examples
        return Prediction(
            score=score,
            variance=self._inflation * variance,
            reach=self._unsure * np.sqrt(weights @ beyond**2) * step * np.sign(weights @ fine),
            low=total,
            high=high,
            ability=weights @ fine,
            beyond=weights @ beyond,
            coefficients=self._coefficients(weights, off, fine, mix),
        )

    def _posterior(self, quasi: Floats, fine: Floats) -> Floats:
        """Weights of the fine abilities, (T, G′), each row summing to 1."""
        logs = np.zeros_like(quasi)
        np.cumsum((quasi[:, 1:] + quasi[:, :-1]) / 2 * np.diff(fine), axis=1, out=logs[:, 1:])
        logs += np.interp(fine, self._model.grid, self._prior) + np.log(np.gradient(fine))
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _coefficients(self, weights: Floats, off: Floats, fine: Floats, mix: Floats) -> Floats:
        """E[∂ estimate/∂x] + Cov(log w, estimate)′: how the estimate moves with each answer, (T, n)."""
        tilt = weights * off
        later = tilt[:, ::-1].cumsum(axis=1)[:, ::-1]
        widths = np.diff(fine)
        moved = np.zeros_like(tilt)
        moved[:, :-1] += later[:, 1:] * widths / 2
        moved[:, 1:] += later[:, 1:] * widths / 2
        direct = (weights @ mix) @ (1 + self._weights) / self._examples
        return np.asarray(direct + (moved @ mix) @ self._scores)


def _finer(grid: Floats) -> tuple[Floats, Floats]:
    """Abilities between those of the grid, and the linear interpolation to them, (G′,) and (G′, G)."""
    places = np.arange((len(grid) - 1) * _FINER + 1) / _FINER
    left = np.minimum(places.astype(int), len(grid) - 2)
    mix = np.zeros((len(places), len(grid)))
    rows = np.arange(len(places))
    mix[rows, left], mix[rows, left + 1] = 1 - (places - left), places - left
    return mix @ grid, mix


MOST_KEPT = 4
"""Predictors of one subset that are kept."""


class PredictorCache:
    """Predictors of one model and subset, by which examples were answered; safe in several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, AbilityPredictor] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, pattern: NDArray[np.bool_], make: Callable[[], AbilityPredictor]) -> AbilityPredictor:
        """The one kept for these answers, else a new one."""
        key = pattern.tobytes()
        with self._lock:
            found = self._kept.pop(key, None)
            if found is not None:
                self._kept[key] = found
                return found
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return made


def predict_scores(
    model: AbilityModel,
    indices: NDArray[np.integer],
    answers: Floats,
    expect: Expect = "like",
    cache: PredictorCache | None = None,
) -> Prediction:
    """Full scores from answers, some of them possibly missing.

    Parameters
    ----------
    model : AbilityModel
    indices : ndarray of int, shape (n,)
        Distinct examples.
    answers : ndarray of float64, shape (T, n)
        In [0, 1]; NaN where missing. Each model has at least one answer. What is missing is
        taken for not asked: it says nothing of the answer.
    expect : {"like", "better"}
    cache : PredictorCache, optional
        Of earlier calls with the same model, examples and expectation.
    """
    cache = PredictorCache() if cache is None else cache
    there = ~np.isnan(answers)
    patterns, member = np.unique(there, axis=0, return_inverse=True)
    found = {f.name: np.zeros(len(answers)) for f in fields(Prediction)}
    found["coefficients"] = np.zeros(answers.shape)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(member.ravel() == number)
        by = cache.get(pattern, partial(AbilityPredictor, model, indices[pattern], expect))
        part = by.predict(answers[np.ix_(rows, pattern)])
        for name, values in found.items():
            if name == "coefficients":
                values[np.ix_(rows, pattern)] = part.coefficients
            else:
                values[rows] = getattr(part, name)
    return Prediction(**found)
