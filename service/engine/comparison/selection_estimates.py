"""A stored selection as the basis of estimates: what kind of sample it is, how far off it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.calibration import (
    LEAST_MODELS,
    Calibration,
    MeasuredOn,
    calibrate,
    from_posterior,
)
from service.engine.comparison.compare import Modelled
from service.engine.comparison.sampling_design import Design, stratified_design
from service.engine.comparison.scores import Estimator, KnownScores, Score, estimate_scores
from service.engine.selection.random_sampling import RandomSampling
from service.engine.selection.stratified import Stratified


@dataclass(frozen=True, slots=True, eq=False)
class StoredPredictor:
    """A linear predictor of the full score fitted to the source models, such as the BLP.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (n,)
    intercept : float
    posterior : float
        Standard deviation it gives its errors, above 0 unless every example was chosen.
    """

    coefficients: NDArray[np.float64]
    intercept: float
    posterior: float


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """What was chosen, and how.

    Attributes
    ----------
    method : str
    options : mapping
        The method's, every default filled in.
    chosen : ndarray of int, shape (n,)
        Indices into the N examples of the matrix it was chosen from.
    weights : ndarray of float64, shape (n,)
    strata : ndarray of int, shape (N,)
        Subtask of every example.
    predictor : StoredPredictor, optional
        When the estimator is one, rather than the weights.
    calibration : Calibration, optional
        Cross-validated when the selection was made.
    of_scores : bool
        Whether answers are scores; a sample of something else, such as confidences, is no
        sample of what makes the full score.
    """

    method: str
    options: Mapping[str, Any]
    chosen: NDArray[np.integer]
    weights: NDArray[np.float64]
    strata: NDArray[np.integer]
    predictor: StoredPredictor | None = None
    calibration: Calibration | None = None
    of_scores: bool = True


def basis(selected: Selected, known: KnownScores) -> Design | Estimator:
    """What to estimate full scores by.

    Random and stratified selections with their own estimator are samples and need no
    model. For the others the errors are those of models that had no part in the choice
    when the matrix has ten of them, else those found by cross-validation, else the
    predictor's own, else those of the source models. KnownScores models with a missing answer
    on the selection are left out of the measurement.

    Parameters
    ----------
    selected : Selected
    known : KnownScores
        At least two models with complete answers, unless the selection is a sample.
    """
    sample = selected.of_scores and selected.predictor is None
    if sample and selected.method == RandomSampling.name:
        return Design.random(len(selected.chosen), len(selected.strata))
    if sample and selected.method == Stratified.name:
        return stratified_design(selected.strata, selected.chosen, selected.options["allocation"])
    predictor = selected.predictor or StoredPredictor(selected.weights, 0.0, 0.0)
    calibration = _calibration(selected, predictor, known)
    return Estimator(predictor.coefficients, calibration, predictor.intercept)


def modelled(
    baseline: NDArray[np.float64],
    candidate: NDArray[np.float64],
    by: Estimator,
    known: KnownScores,
    confidence: float = 0.95,
) -> Modelled:
    """The difference of two models' estimated scores, for `compare` on a selection that is no sample.

    Parameters
    ----------
    baseline, candidate : ndarray of float64, shape (n,)
        Answers on the selection; NaN where missing; at least one answered by both.
    """
    scores: list[Score] = estimate_scores(np.array([baseline, candidate]), by, known, confidence)
    apart = np.abs(candidate - baseline)
    common = ~np.isnan(apart)
    error = by.calibration.difference_error(float(apart[common].mean()), int(common.sum()))
    return Modelled(scores[0].score, scores[1].score, error / float(common.mean()) ** 0.5)


def _calibration(selected: Selected, predictor: StoredPredictor, known: KnownScores) -> Calibration:
    complete = ~np.isnan(known.answers).any(axis=1)
    new, old = complete & ~known.source, complete & known.source
    if new.sum() >= LEAST_MODELS:
        return _measure(predictor, known, new, "new_models")
    if selected.calibration is not None:
        return selected.calibration
    if predictor.posterior > 0:
        return from_posterior(predictor.posterior, known.answers[old])
    return _measure(predictor, known, old, "source_models")


def _measure(
    predictor: StoredPredictor, known: KnownScores, models: NDArray[np.bool_], measured_on: MeasuredOn
) -> Calibration:
    answers = known.answers[models]
    estimates = answers @ predictor.coefficients + predictor.intercept
    return calibrate(estimates, known.scores[models], answers, measured_on=measured_on)
