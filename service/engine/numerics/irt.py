"""Multidimensional two-parameter item response theory, fitted by maximum a posteriori.

P(model i is right on example j) = σ(θ_i · a_j − b_j), abilities θ and discriminations
a in D dimensions, difficulties b, with independent Gaussian priors on all three.
Scores between 0 and 1 enter the Bernoulli likelihood as fractions of a right answer.

The priors fix the scale and shrink towards 0, so answers that are all right or all wrong give finite
abilities, and constant examples have finite difficulties. The priors do not fix the rotation: the axes
are rotated to the discriminations' singular vectors, largest first, each with the sign for which
examples discriminate positively on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from service.engine.data.matrix import Scores
from service.engine.numerics.svd import leading_triplets

Floats = NDArray[np.float64]

ABILITY_SD = 1.0
DISCRIMINATION_SD = 0.5
DIFFICULTY_SD = 2.0

_BLOCK_CELLS = 1 << 16
_CURVATURE = 0.2
_LOGITS = 2.0
_STEP = 1e-8
_HALVINGS = 30
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Irt:
    """A fitted model.

    Attributes
    ----------
    ability : ndarray, shape (S, D)
        θ of the models it was fitted to, in prior standard deviations.
    discrimination : ndarray, shape (N, D)
        a, in logits per standard deviation of ability.
    difficulty : ndarray, shape (N,)
        b, in logits: an average model is right with probability σ(−b).
    iterations : int
        Quasi-Newton steps taken.
    converged : bool
        Whether the last steps changed nothing relevant (see `fit`).
    """

    ability: Floats
    discrimination: Floats
    difficulty: Floats
    iterations: int
    converged: bool

    def probabilities(self, ability: Floats) -> Floats:
        """Probability of a right answer of models with abilities (T, D) on every example, shape (T, N)."""
        return np.asarray(expit(ability @ self.discrimination.T - self.difficulty))

    def abilities(self, examples: NDArray[np.integer], answers: Floats) -> Floats:
        """Most probable abilities of models that answered some examples.

        Parameters
        ----------
        examples : ndarray of int, shape (n,)
        answers : ndarray, shape (T, n)
            Scores in [0, 1], complete.

        Returns
        -------
        ndarray, shape (T, D)
            Finite whatever the answers.
        """
        return abilities(self.discrimination[examples], self.difficulty[examples], answers)


def fit(
    scores: Scores,
    dimensions: int = 10,
    *,
    observed: NDArray[np.bool_] | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
) -> Irt:
    """Fit the model by L-BFGS on the log posterior, from the scores' singular vectors.

    Parameters
    ----------
    scores : ndarray, shape (S, N)
        Values in [0, 1].
    dimensions : int, default 10
        Reduced to the rank that the scores can have, min(S, N).
    observed : ndarray of bool, shape (S, N), optional
        Cells to learn from; the others are ignored. By default all.
    tolerance : float, default 1e-6
        Converged when a step lowers the negative log posterior by less than this
        share of it, or the gradient is too small for that.
    max_iterations : int, default 1000
        If the fit needs more, `Irt.converged` is False.
    """
    posterior = _Posterior(scores, min(dimensions, *scores.shape), observed)
    result = minimize(
        posterior,
        posterior.start(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": tolerance, "gtol": 1e-6},
    )
    ability, discrimination, intercept = posterior.parameters(result.x)
    turn = _principal_axes(discrimination)
    # The line search stops where the remaining gain is below rounding error; that is convergence too.
    flat = 0.5 * float(result.jac @ result.jac) <= tolerance * abs(float(result.fun))
    converged = bool(np.isfinite(result.fun)) and (bool(result.success) or flat)
    return Irt(ability @ turn, discrimination @ turn, -intercept, int(result.nit), converged)


def abilities(
    discrimination: Floats, difficulty: Floats, answers: Floats, *, max_iterations: int = 100
) -> Floats:
    """Most probable abilities given the examples' parameters, by damped Newton steps.

    The log posterior is strictly concave, so its mode is unique. Steps are halved until they increase
    it, so they converge to the mode.

    Parameters
    ----------
    discrimination : ndarray, shape (n, D)
    difficulty : ndarray, shape (n,)
    answers : ndarray, shape (T, n)
        Scores in [0, 1].
    max_iterations : int, default 100

    Returns
    -------
    ndarray, shape (T, D)
    """
    dimensions = discrimination.shape[1]
    outer = (discrimination[:, :, None] * discrimination[:, None, :]).reshape(len(discrimination), -1)
    prior = np.eye(dimensions) / ABILITY_SD**2
    theta = np.zeros((len(answers), dimensions))
    value = _log_posterior(theta, discrimination, difficulty, answers)
    for _ in range(max_iterations):
        p = expit(theta @ discrimination.T - difficulty)
        gradient = (answers - p) @ discrimination - theta / ABILITY_SD**2
        curvature = ((p * (1 - p)) @ outer).reshape(-1, dimensions, dimensions) + prior
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        if np.abs(step).max(initial=0) < _STEP:
            break
        for _ in range(_HALVINGS):
            trial = _log_posterior(theta + step, discrimination, difficulty, answers)
            falls = trial < value - _ROUNDING * np.abs(value)
            if not falls.any():
                break
            step[falls] /= 2
        theta, value = theta + step, trial
    return theta


def _log_posterior(theta: Floats, discrimination: Floats, difficulty: Floats, answers: Floats) -> Floats:
    z = theta @ discrimination.T - difficulty
    likelihood = (answers * z - np.logaddexp(0, z)).sum(axis=1)
    return np.asarray(likelihood - 0.5 * (theta**2).sum(axis=1) / ABILITY_SD**2)


def _principal_axes(discrimination: Floats) -> Floats:
    """The orthogonal matrix, shape (D, D), that rotates the axes as the module's docstring says."""
    _, axes = np.linalg.eigh(discrimination.T @ discrimination)
    axes = axes[:, ::-1]
    return np.asarray(axes * np.where((discrimination @ axes).sum(axis=0) < 0, -1, 1))


class _Posterior:
    """Negative log posterior and its gradient, in variables scaled to similar curvatures.

    The sums over cells are taken in single precision, in blocks of examples that
    fit the cache; totals and parameters are double.
    """

    def __init__(self, scores: Scores, dimensions: int, observed: NDArray[np.bool_] | None) -> None:
        self._models, self._examples = scores.shape
        self._dimensions = dimensions
        self._observed = None if observed is None else observed.T.astype(np.float32)
        self._scores = scores.T.astype(np.float32)
        if self._observed is not None:
            self._scores *= self._observed
        self._scale = np.ones((self._models + self._examples) * dimensions + self._examples)

    def split(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Views of the abilities (S, D), discriminations (N, D) and intercepts −b (N,) in x."""
        d = self._dimensions
        first, second = self._models * d, (self._models + self._examples) * d
        return x[:first].reshape(-1, d), x[first:second].reshape(-1, d), x[second:]

    def parameters(self, scaled: Floats) -> tuple[Floats, Floats, Floats]:
        """Abilities, discriminations and intercepts from the variables of `__call__`."""
        return self.split(scaled * self._scale)

    def __call__(self, scaled: Floats) -> tuple[float, Floats]:
        theta, a, intercept = self.parameters(scaled)
        gradient = np.empty_like(scaled)
        by_theta, by_a, by_intercept = self.split(gradient)
        by_theta[:] = theta / ABILITY_SD**2
        value = 0.5 * float((theta**2).sum()) / ABILITY_SD**2
        value += 0.5 * float((a**2).sum()) / DISCRIMINATION_SD**2
        value += 0.5 * float((intercept**2).sum()) / DIFFICULTY_SD**2
        theta32, a32, intercept32 = (
            theta.astype(np.float32),
            a.astype(np.float32),
            intercept.astype(np.float32),
        )
        step = max(1, _BLOCK_CELLS // self._models)
        for start in range(0, self._examples, step):
            part = slice(start, start + step)
            loss, residual = self._likelihood(part, a32[part] @ theta32.T + intercept32[part, None])
            value += loss
            by_theta += residual.T @ a32[part]
            by_a[part] = residual @ theta32 + a[part] / DISCRIMINATION_SD**2
            by_intercept[part] = residual.sum(axis=1) + intercept[part] / DIFFICULTY_SD**2
        return value, gradient * self._scale

    def _likelihood(self, part: slice, z: NDArray[np.float32]) -> tuple[float, NDArray[np.float32]]:
        """Negative log likelihood of some examples, and its derivative with respect to their logits z."""
        scores = self._scores[part]
        small = np.exp(-np.abs(z))
        loss = np.maximum(z, 0) + np.log1p(small) - scores * z
        right = np.where(z > 0, np.float32(1), small) / (1 + small)
        if self._observed is not None:
            loss *= self._observed[part]
            right *= self._observed[part]
        return float(loss.sum(dtype=np.float64)), right - scores

    def start(self) -> Floats:
        """Starting values: difficulties from the mean scores, the others from singular vectors of the
        residuals.

        A singular value is divided between ability and discrimination according to the priors. Also sets
        the scale of the variables, from the curvature at the start.
        """
        seen = self._models if self._observed is None else self._observed.sum(axis=1)
        p = (self._scores.sum(axis=1, dtype=np.float64) + 0.5) / (seen + 1)
        residual = (self._scores - p[:, None]) / np.sqrt(p * (1 - p))[:, None]
        if self._observed is not None:
            residual *= self._observed
        left, values, right = leading_triplets(residual, self._dimensions)
        spread = np.sqrt(_LOGITS * values)
        prior = np.sqrt(DISCRIMINATION_SD / ABILITY_SD)
        theta, a = right * spread / prior, left * spread * prior
        curvature_theta = _CURVATURE * (a**2).sum(axis=0) + 1 / ABILITY_SD**2
        curvature_a = _CURVATURE * (theta**2).sum(axis=0) + 1 / DISCRIMINATION_SD**2
        scale_theta, scale_a, scale_intercept = self.split(self._scale)
        scale_theta[:] = 1 / np.sqrt(curvature_theta)
        scale_a[:] = 1 / np.sqrt(curvature_a)
        scale_intercept[:] = 1 / np.sqrt(_CURVATURE * self._models + 1 / DIFFICULTY_SD**2)
        return np.concatenate((theta.ravel(), a.ravel(), np.log(p / (1 - p)))) / self._scale
