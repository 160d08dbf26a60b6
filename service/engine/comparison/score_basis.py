"""What a full score is estimated from, and the scores that are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.comparison.calibration import Calibration
from service.engine.comparison.full_scores import SampledEvidence
from service.engine.comparison.sampling_design import Design


@dataclass(frozen=True, slots=True, eq=False)
class KnownScores:
    """The matrix's models.

    Attributes
    ----------
    scores : ndarray of float64, shape (M,)
        Full scores, finite.
    answers : ndarray of float64, shape (M, n)
        On the selection; NaN where missing.
    source : ndarray of bool, shape (M,)
        Models that chose the examples.
    """

    scores: NDArray[np.float64]
    answers: NDArray[np.float64]
    source: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Estimator:
    """A linear estimator of the full score from confidences: intercept + Σ coefficient × answer.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (n,)
        The selection's weights.
    intercept : float
    calibration : Calibration
    """

    coefficients: NDArray[np.float64]
    calibration: Calibration
    intercept: float = 0.0

    def difference_variance(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance of the difference of every two estimates, shape (T, T), from answers (T, n)."""
        there = ~np.isnan(answers)
        shared = there.astype(np.float64) @ there.T
        values = np.nan_to_num(answers)
        apart = np.array(
            [
                (np.abs(row - values) * mask * there).sum(axis=1)
                for row, mask in zip(values, there, strict=True)
            ]
        )
        rate = (apart + 1) / (shared + 2)
        return np.asarray(rate / self.calibration.effective_size * answers.shape[1] / np.maximum(shared, 1))


@dataclass(frozen=True, slots=True, eq=False)
class AssistedSample:
    """A sample, and what the source models say of the other examples."""

    design: Design
    evidence: SampledEvidence


Basis = Design | AssistedSample | AbilityEstimator | Estimator
