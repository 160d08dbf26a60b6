"""How far a selection's estimates are from the full scores, for subsets that are no random sample.

Measured on models whose full scores are known: best on models that had no part in the
choice, else by leaving source models out of it in turn.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import Fitted, Method, Source, Subset

Estimate = Callable[[Source, Fitted, Subset, NDArray[np.float64]], NDArray[np.float64]]
MeasuredOn = Literal["new_models", "cross_validation", "source_models"]

# Fewer models with known scores than this carry no calibration of their own.
LEAST_MODELS = 10
# Models left out, each as often as it is, and examples beyond which another split takes long.
_ENOUGH, _MANY = 60, 4_000
# Estimates from all examples leave squared errors like this behind.
ROUNDING = 1e-20


@dataclass(frozen=True, slots=True)
class Calibration:
    """Errors of estimated full scores.

    Attributes
    ----------
    models : int
        Models the errors were measured on.
    bias : float
        Mean of estimate − full score.
    deviation : float
        Root mean square of estimate − full score.
    effective_size : float
        Random examples that would order these models' pairs as well: Σ disagreement / Σ squared
        error of the pairs' differences; infinite when no pair has an error.
    measured_on : str
        "new_models" had no part in choosing the examples; by "cross_validation" each source
        model was left out in turn; "source_models" is what is left, and optimistic.
    """

    models: int
    bias: float
    deviation: float
    effective_size: float
    measured_on: MeasuredOn


def calibrate(
    estimates: NDArray[np.float64],
    scores: NDArray[np.float64],
    answers: NDArray[np.float64],
    *,
    measured_on: MeasuredOn = "new_models",
) -> Calibration:
    """Measure the errors of models with known full scores.

    Parameters
    ----------
    estimates, scores : ndarray of float64, shape (M,)
        Estimated and full scores, M ≥ 2.
    answers : ndarray of float64, shape (M, n)
        On the subset, complete.
    measured_on : str
        Who these models are.
    """
    errors = estimates - scores
    squares, movement = _pair_sums(errors, answers)
    return Calibration(
        models=len(errors),
        bias=float(errors.mean()),
        deviation=float(np.sqrt((errors**2).mean())),
        effective_size=movement / squares if squares > ROUNDING else float("inf"),
        measured_on=measured_on,
    )


def cross_validate(
    source: Source,
    method: Method,
    size: int,
    estimate: Estimate,
    rng: np.random.Generator,
    folds: int = 5,
    *,
    scored_by: str | None = None,
) -> Calibration:
    """Choose anew without each fold of the source models, and judge by the models left out.

    With few models the split is drawn several times, unless there are many examples: one
    split of few models says more of itself than of the method.

    Parameters
    ----------
    source : Source
        At least 2 `folds` models.
    method : Method
    size : int
    estimate : callable
        Source, fitted method, subset, answers on it (T, n) → full scores (T,).
    rng : Generator
    folds : int
    scored_by : "scores" or "confidences", optional
        What the estimates are made from; by default what the method wants.

    Returns
    -------
    Calibration
        Of all source models together, each estimated without itself; pairs are compared
        within their fold, where both were estimated from the same examples.

    Raises
    ------
    Unsuitable
        The data without a fold cannot carry the method.
    """
    times = -(-_ENOUGH // source.n_models) if source.n_examples <= _MANY else 1
    splits = [rng.permutation(source.n_models) % folds for _ in range(times)]
    errors, squares, movement = [], 0.0, 0.0
    for fold_of, fold in itertools.product(splits, range(folds)):
        left = fold_of == fold
        kept = None if source.confidences is None else source.confidences[~left]
        part = Source(source.scores[~left], source.strata, kept, source.embeddings)
        fitted = method.fit(part, rng)
        subset = fitted.pick(size)
        answers = _answers(source, scored_by or method.scored_by)[left][:, subset.indices].astype(np.float64)
        error = estimate(part, fitted, subset, answers) - source.scores[left].mean(axis=1)
        errors.append(error)
        pair_squares, pair_movement = _pair_sums(error, answers)
        squares, movement = squares + pair_squares, movement + pair_movement
    together = np.concatenate(errors)
    return Calibration(
        models=source.n_models,
        bias=float(together.mean()),
        deviation=float(np.sqrt((together**2).mean())),
        effective_size=movement / squares if squares > ROUNDING else float("inf"),
        measured_on="cross_validation",
    )


def _answers(source: Source, scored_by: str) -> NDArray[np.generic]:
    """What the estimator is fed: confidences where they are wanted and there."""
    if scored_by == "confidences" and source.confidences is not None:
        return source.confidences
    return source.scores


def _pair_sums(errors: NDArray[np.float64], answers: NDArray[np.float64]) -> tuple[float, float]:
    """Over all pairs: Σ (error difference)², and Σ mean absolute difference of the answers."""
    count, n = answers.shape
    squares = count * float((errors**2).sum()) - float(errors.sum()) ** 2
    ordered = np.sort(answers, axis=0)
    places = 2 * np.arange(count) - count + 1
    return squares, float((places @ ordered).sum()) / n
