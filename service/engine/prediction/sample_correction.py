"""What the errors of a probability sample's predictions say of the sum of all predictions.

Hájek's mean of the errors over the part of the benchmark that the sample was drawn from
(Särndal, Swensson & Wretman 1992, eq. 5.7.4 and 7.2.11); by clusters where errors go together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.prediction.shrinkage import Floats

LEAST_SQUARES = 0.25
"""Added to the sum of squared errors: a sample without an error is not without doubt."""


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedScore:
    """A full score from predictions and a sample's errors.

    Attributes
    ----------
    score : float
    influence : ndarray of float64, shape (n,)
        What each example adds to the error; the sum of squares is the variance over samples.
        Those of two models on the same sample may be subtracted.
    coefficients : ndarray of float64, shape (n,)
        Weight of each answer in the score, for the noise of repeated runs.
    """

    score: float
    influence: Floats
    coefficients: Floats


def corrected_score(
    predicted: Floats,
    errors: Floats,
    indices: NDArray[np.integer],
    answers: Floats,
    inclusion: Floats,
) -> CorrectedScore:
    """Correct the mean of all predictions by the sample's errors.

    Parameters
    ----------
    predicted : ndarray of float64, shape (N,)
        Of every example.
    errors : ndarray of float64, shape (n,)
        Answer − prediction without it (leave-one-out).
    indices : ndarray of int, shape (n,)
    answers : ndarray of float64, shape (n,)
    inclusion : ndarray of float64, shape (n,)
        Probability of each to be in the sample; 1 for those chosen for certain.
    """
    examples, count = len(predicted), len(answers)
    sampled = inclusion < 1
    rest = np.ones(examples, dtype=bool)
    rest[indices] = False
    coefficients = np.full(count, 1 / examples)
    influence = np.zeros(count)
    if not sampled.any():
        total = float(answers.sum() + predicted[rest].sum())
        return CorrectedScore(total / examples, influence, coefficients)
    part = (examples - int((~sampled).sum())) / examples
    weights = 1 / inclusion[sampled]
    weights = weights / weights.sum()
    correction = float(weights @ errors[sampled])
    total = answers.sum() - errors[sampled].sum() + predicted[rest].sum()
    drawn = int(sampled.sum())
    small = np.sqrt(drawn / max(drawn - 1, 1) * (1 - inclusion[sampled]))
    influence[sampled] = part * small * weights * (errors[sampled] - correction)
    coefficients[sampled] = part * weights
    return CorrectedScore(float(total / examples + part * correction), influence, coefficients)


def variance(
    influence: Floats, inclusion: Floats, examples: int, clusters: NDArray[np.int64] | None
) -> float:
    """Variance of a score, or of a difference of scores, from its influence, shape (n,).

    Of clusters the sums count, G/(G − 1) times; the error that a sample without errors
    leaves open is added.
    """
    sampled = inclusion < 1
    count = int(sampled.sum())
    if not count:
        return 0.0
    part = (examples - int((~sampled).sum())) / examples
    open_ = part**2 * LEAST_SQUARES * float((1 - inclusion[sampled]).mean()) / count**2
    if clusters is None:
        return float(influence @ influence) + open_
    sums = np.bincount(clusters, influence)
    groups = max(int((np.bincount(clusters) > 0).sum()), 1)
    return float(sums @ sums) * groups / max(groups - 1, 1) + open_
