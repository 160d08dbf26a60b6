"""Every example's score by regression on what is known of it, for few source models or none.

Generalised regression (Särndal, Swensson & Wretman 1992, ch. 6): ridge regression of the
answers on known values of the examples; the errors of left-out answers correct the sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.engine.prediction.shrinkage import Floats

_RIDGE = 0.5
"""Penalty of each coefficient but the level."""


def regress_examples(
    indices: NDArray[np.integer], answers: Floats, covariates: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Predict every example, and each answer from the others.

    Parameters
    ----------
    indices : ndarray of int, shape (n,)
        The examples answered.
    answers : ndarray of float64, shape (n,)
    covariates : ndarray of float64, shape (N, K)
        Known of every example: the baseline's answer, the source models' mean.
    weights : ndarray of float64, shape (n,)
        Inverse inclusion probabilities, in any unit.

    Returns
    -------
    predicted : ndarray of float64, shape (N,)
    errors : ndarray of float64, shape (n,)
        Answer − leave-one-out prediction; the prediction's leverage is exact.
    """
    level = np.ones((len(covariates), 1))
    design = np.hstack((level, covariates - covariates[indices].mean(axis=0)))
    chosen, scaled = design[indices], weights / weights.mean()
    penalty = np.full(design.shape[1], _RIDGE)
    penalty[0] = 1e-9
    inverse = np.linalg.inv((chosen.T * scaled) @ chosen + np.diag(penalty))
    coefficients = inverse @ (chosen.T * scaled) @ answers
    leverage = scaled * np.einsum("ij,jk,ik->i", chosen, inverse, chosen)
    left = np.maximum(1 - leverage, 1 / len(answers))
    errors = (answers - chosen @ coefficients) / left
    predicted = np.clip(design @ coefficients, 0, 1)
    return predicted, answers - np.clip(answers - errors, 0, 1)
