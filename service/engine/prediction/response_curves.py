"""Probability of a right answer to each example as a logistic curve in ability (2PL), from the source models.

Ability is fixed by the model's own score: θ = (logit of the mean score − location) / scale.
The curves σ(c + aθ) are maximum a posteriori estimates under a normal prior of (c, a) that
is itself estimated from all examples (empirical Bayes), so examples that say little about
themselves are drawn to what all examples have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from service.engine.prediction.shrinkage import Floats

SLIP = 0.01
"""No answer is ever certain: p = SLIP + (1 − 2 SLIP) σ(c + aθ)."""
_ROUNDS, _FIRST_STEPS, _STEPS = 12, 8, 2
_SETTLED = 2e-3
_NODES = 64
_LARGEST_STEP = 2.0
_LEAST_WEIGHT = 1e-4
_PRIOR_JITTER = 1e-3
_USUAL_SCALE, _SCALE_WORTH = 0.4, 0.2
"""Spread of the logits of scores where no source model has shown it, and its worth in models."""
_LEAST_SCORE = 1e-3
_LEAST_DISPERSION = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class AbilityScale:
    """Abilities of the source models, and their unit.

    Attributes
    ----------
    abilities : ndarray of float64, shape (S,)
    location, scale : float
        Ability θ stands for a score with logit location + scale · θ.
    """

    abilities: Floats
    location: float
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class ResponseCurves:
    """Curves of N examples.

    Attributes
    ----------
    parameters : ndarray of float64, shape (N, 2)
        (c, a) of each curve.
    covariance : ndarray of float64, shape (N, 3)
        Posterior covariance of the parameters: var c, cov(c, a), var a.
    dispersion : float
        Variance of a score about its curve over p(1 − p): 1 for 0/1 scores, less for graded ones.
    """

    parameters: Floats
    covariance: Floats
    dispersion: float

    def logits(self, abilities: Floats, *, predictive: bool) -> Floats:
        """Logit of the curve at each ability, shape (G, N).

        `predictive` averages over what is not known of the parameters (MacKay 1992).
        """
        values = _design(abilities) @ self.parameters.T
        if predictive:
            powers = np.stack((np.ones_like(abilities), 2 * abilities, abilities**2), axis=1)
            values /= np.sqrt(1 + np.pi / 8 * (powers @ self.covariance.T))
        return np.asarray(values)


def probability(logits: Floats) -> Floats:
    """SLIP + (1 − 2 SLIP) σ(logit); in the precision of the argument."""
    return np.asarray(SLIP + (1 - 2 * SLIP) / (1 + np.exp(-logits)))


def ability_scale(scores: Floats) -> AbilityScale:
    """Abilities of models with these complete scores, shape (S, N)."""
    examples = scores.shape[1]
    logits = logit(np.clip((scores.sum(axis=1) + 0.5) / (examples + 1), _LEAST_SCORE, 1 - _LEAST_SCORE))
    location = float(logits.mean())
    squares = float(((logits - location) ** 2).sum()) + _SCALE_WORTH * _USUAL_SCALE**2
    scale = float(np.sqrt(squares / (len(logits) + _SCALE_WORTH)))
    return AbilityScale((logits - location) / scale, location, scale)


def fit_curves(
    scores: Floats, abilities: Floats, observed: NDArray[np.bool_] | None = None
) -> ResponseCurves:
    """Fit the curves to the source models.

    Parameters
    ----------
    scores : ndarray of float64, shape (S, N)
        In [0, 1].
    abilities : ndarray of float64, shape (S,)
    observed : ndarray of bool, shape (S, N), optional
        False where a score does not count.
    """
    sums = _Sums(scores, abilities, observed)
    cells = scores if observed is None else scores[observed]
    binary = bool(((cells == 0) | (cells == 1)).all())
    rate = (sums.first[:, 0] + 0.5) / (sums.counts.sum(axis=1) + 1)
    parameters = np.stack((logit(rate), np.ones(len(rate))), axis=1)
    centre = np.array([parameters[:, 0].mean(), 1.0])
    precision = np.diag([1 / max(float(parameters[:, 0].var()), 0.5), 2.0])
    dispersion, steps = 1.0, _FIRST_STEPS
    for _ in range(_ROUNDS):
        parameters, curvature = sums.maximise(parameters, centre, precision, dispersion, steps)
        covariance = _inverse(curvature)
        if not binary:
            dispersion = sums.dispersion(parameters, scores, abilities, observed)
        before, centre = centre, parameters.mean(axis=0)
        errors = covariance.mean(axis=0)
        spread = np.cov(parameters.T, bias=True) + np.array([[errors[0], errors[1]], [errors[1], errors[2]]])
        precision = np.linalg.inv(spread + _PRIOR_JITTER * np.eye(2))
        if steps == _STEPS and np.abs(centre - before).max() < _SETTLED:
            break
        steps = _STEPS
    return ResponseCurves(parameters, covariance, dispersion)


class _Sums:
    """What the likelihood of every curve rests on.

    With many models their abilities are split between neighbours of a fixed set of nodes,
    so a step costs the number of nodes instead of the number of models.
    """

    def __init__(self, scores: Floats, abilities: Floats, observed: NDArray[np.bool_] | None) -> None:
        design = _design(abilities)
        answered = scores if observed is None else np.where(observed, scores, 0.0)
        self.first = answered.T @ design
        self._nodes, shares = _nodes(abilities)
        self.counts = shares.sum(axis=0)[None] if observed is None else observed.T.astype(np.float64) @ shares
        self._design = _design(self._nodes)
        self._squares = np.stack((np.ones_like(self._nodes), self._nodes, self._nodes**2), axis=1)

    def maximise(
        self, parameters: Floats, centre: Floats, precision: Floats, dispersion: float, steps: int
    ) -> tuple[Floats, Floats]:
        """Newton steps of every curve at once; parameters and curvature, (N, 2) and (N, 3)."""
        prior = np.array([precision[0, 0], precision[0, 1], precision[1, 1]])
        for _ in range(steps):
            rates = 1 / (1 + np.exp(-(parameters @ self._design.T)))
            weights = self.counts * np.maximum(rates * (1 - rates), _LEAST_WEIGHT)
            curvature = weights @ self._squares / dispersion + prior
            slopes = (self.first - (self.counts * rates) @ self._design) / dispersion
            step = _solve(curvature, slopes - (parameters - centre) @ precision)
            longest = np.abs(step).max(axis=1, keepdims=True)
            parameters = parameters + step * np.minimum(1, _LARGEST_STEP / np.maximum(longest, 1e-9))
        return parameters, curvature

    @staticmethod
    def dispersion(
        parameters: Floats, scores: Floats, abilities: Floats, observed: NDArray[np.bool_] | None
    ) -> float:
        """Mean square about the curves over the mean of p(1 − p)."""
        rates = probability(_design(abilities) @ parameters.T)
        squares, bernoulli = (scores - rates) ** 2, rates * (1 - rates)
        if observed is not None:
            squares, bernoulli = squares[observed], bernoulli[observed]
        return float(np.clip(squares.mean() / bernoulli.mean(), _LEAST_DISPERSION, 1.0))


def _design(abilities: Floats) -> Floats:
    return np.stack((np.ones_like(abilities), abilities), axis=1)


def _nodes(abilities: Floats) -> tuple[Floats, Floats]:
    """Nodes, and each model's share of each, which keep its ability on average; (K,) and (S, K)."""
    if len(abilities) <= _NODES:
        return abilities, np.eye(len(abilities))
    nodes = np.linspace(abilities.min(), abilities.max(), _NODES)
    place = (abilities - nodes[0]) / max(nodes[1] - nodes[0], 1e-12)
    left = np.clip(place.astype(int), 0, _NODES - 2)
    shares = np.zeros((len(abilities), _NODES))
    rows = np.arange(len(abilities))
    shares[rows, left], shares[rows, left + 1] = 1 - (place - left), place - left
    return nodes, shares


def _solve(curvature: Floats, slopes: Floats) -> Floats:
    """Solutions of symmetric 2 × 2 systems, (N, 3) and (N, 2) → (N, 2)."""
    inverse = _inverse(curvature)
    return np.stack(
        (
            inverse[:, 0] * slopes[:, 0] + inverse[:, 1] * slopes[:, 1],
            inverse[:, 1] * slopes[:, 0] + inverse[:, 2] * slopes[:, 1],
        ),
        axis=1,
    )


def _inverse(symmetric: Floats) -> Floats:
    """Inverses of 2 × 2 matrices as (first, off-diagonal, last), shape (N, 3)."""
    first, off, last = symmetric.T
    return np.asarray(np.stack((last, -off, first), axis=1) / (first * last - off**2)[:, None])
