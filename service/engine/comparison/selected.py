"""A stored selection as the basis of estimates: what kind of sample it is, how far off it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.calibration import LEAST_MODELS, Calibration, calibrate
from service.engine.comparison.compare import Modelled
from service.engine.comparison.design import Design, stratified_design
from service.engine.comparison.scores import Estimator, Known, Score, estimate_scores
from service.engine.selection.random_sampling import RandomSampling
from service.engine.selection.stratified import Stratified


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
    calibration : Calibration, optional
        Cross-validated when the selection was made.
    """

    method: str
    options: Mapping[str, Any]
    chosen: NDArray[np.integer]
    weights: NDArray[np.float64]
    strata: NDArray[np.integer]
    calibration: Calibration | None = None


def basis(selected: Selected, known: Known) -> Design | Estimator:
    """What to estimate full scores by.

    Random and stratified selections are samples and need no model. For the others the
    errors are those of models that had no part in the choice when the matrix has ten of
    them, else those found by cross-validation, else those of the source models.
    Known models with a missing answer on the selection are left out of the measurement.

    Parameters
    ----------
    selected : Selected
    known : Known
        At least two models with complete answers, unless the selection is a sample.
    """
    if selected.method == RandomSampling.name:
        return Design.random(len(selected.chosen), len(selected.strata))
    if selected.method == Stratified.name:
        return stratified_design(selected.strata, selected.chosen, selected.options["allocation"])
    return Estimator(selected.weights, _calibration(selected, known))


def modelled(
    baseline: NDArray[np.float64],
    candidate: NDArray[np.float64],
    by: Estimator,
    known: Known,
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


def _calibration(selected: Selected, known: Known) -> Calibration:
    complete = ~np.isnan(known.answers).any(axis=1)
    new = complete & ~known.source
    if new.sum() < LEAST_MODELS:
        if selected.calibration is not None:
            return selected.calibration
        new = complete & known.source
    answers = known.answers[new]
    out_of_sample = not known.source[new].any()
    return calibrate(answers @ selected.weights, known.scores[new], answers, out_of_sample=out_of_sample)
