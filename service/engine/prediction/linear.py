"""Best linear prediction of full scores from answers on a subset of the examples.

Given the answers x on the chosen examples C, the sum over the others is predicted by

    Σ_rest μ + gᵀ·F_Cᵀ·(F_C·F_Cᵀ + D_C)⁻¹·(x − μ_C),     g = Σ_rest F

so what was observed enters as it is, all examples give the exact mean, and with
unrelated examples (F = 0) the order of any models is that of their plain means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from service.engine.prediction.covariance import Covariance
from service.engine.prediction.shrinkage import Floats


@dataclass(frozen=True, slots=True, eq=False)
class LinearPredictor:
    """full score ≈ intercept + answers · coefficients, for one subset.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (n,)
    intercept : float
    deviation : float
        Posterior standard deviation of the full score; 0 when every example is chosen.
    share : float
        n / N: what of the full score is observed.
    """

    coefficients: Floats
    intercept: float
    deviation: float
    share: float

    def estimate(self, answers: Floats) -> Floats:
        """Full scores, shape (T,), from answers of shape (T, n); within what the answers leave possible."""
        observed = self.share * answers.mean(axis=1)
        predicted = self.intercept + answers @ self.coefficients
        return np.asarray(np.clip(predicted, observed, observed + 1 - self.share))

    def rest(self, answers: Floats) -> Floats:
        """Predicted mean score on the examples not chosen, shape (T,); there must be some."""
        predicted = self.intercept + answers @ self.coefficients
        return np.asarray((predicted - self.share * answers.mean(axis=1)) / (1 - self.share))

    def corrected(self, offset: float, slope: float) -> LinearPredictor:
        """The predictor whose `rest` is offset + slope × this one's."""
        plain = self.share / len(self.coefficients)
        return replace(
            self,
            coefficients=plain + slope * (self.coefficients - plain),
            intercept=slope * self.intercept + (1 - self.share) * offset,
        )


def linear_predictor(covariance: Covariance, indices: NDArray[np.integer]) -> LinearPredictor:
    """The predictor from answers on these distinct examples, shape (n,)."""
    examples, chosen = len(covariance.mean), len(indices)
    if chosen == examples:
        return LinearPredictor(np.full(examples, 1 / examples), 0.0, 0.0, 1.0)
    mean, noise = covariance.mean[indices], covariance.noise[indices]
    factor = covariance.factor[indices].astype(np.float64)
    rest = covariance.factor.sum(axis=0, dtype=np.float64) - factor.sum(axis=0)
    weights, explained = _regress(factor, noise, rest)
    unexplained = max(float(rest @ rest) - explained, 0.0)
    variance = unexplained + max(float(covariance.noise.sum() - noise.sum()), 0.0)
    return LinearPredictor(
        coefficients=(1 + weights) / examples,
        intercept=float(covariance.mean.sum() - mean.sum() - weights @ mean) / examples,
        deviation=float(np.sqrt(variance)) / examples,
        share=chosen / examples,
    )


def _regress(factor: Floats, noise: Floats, rest: Floats) -> tuple[Floats, float]:
    """(F·Fᵀ + D)⁻¹·F·g and gᵀ·Fᵀ·(F·Fᵀ + D)⁻¹·F·g, by the smaller of the two systems."""
    chosen, rank = factor.shape
    target = factor @ rest
    if chosen <= rank:
        weights: Floats = cho_solve(cho_factor(factor @ factor.T + np.diag(noise)), target)
    else:
        scaled = factor / noise[:, None]
        weights = scaled @ cho_solve(cho_factor(np.eye(rank) + factor.T @ scaled), rest)
    return weights, float(weights @ target)
