"""A stored selection as the basis of estimates: what kind of sample it is, how far off it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.comparison.calibration import LEAST_MODELS, Calibration, MeasuredOn, calibrate
from service.engine.comparison.full_scores import DesignedEvidence, Evidence, SampledEvidence
from service.engine.comparison.sampling_design import Design, stratified_design
from service.engine.comparison.score_basis import Basis, Estimator, KnownScores
from service.engine.data.contracts import Source
from service.engine.selection.registry import METHODS


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
    weighted : bool
        Whether its own estimator is the weighted mean of a sample.
    ability : AbilityEstimator, optional
        Fitted to its source models; None where answers are not scores.
    calibration : Calibration, optional
        Cross-validated when the selection was made, where answers are not scores.
    """

    method: str
    options: Mapping[str, Any]
    chosen: NDArray[np.integer]
    weights: NDArray[np.float64]
    strata: NDArray[np.integer]
    weighted: bool = True
    ability: AbilityEstimator | None = None
    calibration: Calibration | None = None


def basis(selected: Selected, known: KnownScores) -> Basis:
    """What to estimate full scores by.

    Random and stratified selections with their own estimator are samples and need no
    model. From scores on any other, the ability-conditional predictor estimates. Where
    answers are confidences the weights do, with errors of models that had no part in the
    choice when the matrix has ten of them, else those found by cross-validation, else
    those of the source models; known models with a missing answer on the selection are
    left out of the measurement.

    Parameters
    ----------
    selected : Selected
    known : KnownScores
        At least two models with complete answers, where answers are confidences.
    """
    if selected.ability is not None and selected.weighted and selected.ability.inclusion is None:
        sample = _sample(selected)
        if sample is not None:
            return sample
    if selected.ability is not None:
        return selected.ability
    return Estimator(selected.weights, _calibration(selected, known))


def evidence(selected: Selected, source: Source) -> Evidence | None:
    """What full scores are compared by, beside the answers; None where answers are not scores."""
    return None if selected.ability is None else evidence_of_scores(selected, selected.ability, source)


def evidence_of_scores(selected: Selected, ability: AbilityEstimator, source: Source) -> Evidence:
    """What full scores are compared by, where answers are scores.

    A random or stratified selection is a probability sample whatever its own estimator is,
    and so is one that records inclusion probabilities.
    """
    inclusion = ability.inclusion
    sample = _sample(selected)
    if inclusion is None and sample is not None:
        inclusion = sample.fractions
    if inclusion is None:
        return DesignedEvidence(ability, source)
    return SampledEvidence(
        chosen=selected.chosen.astype(np.int64),
        inclusion=inclusion,
        examples=len(selected.strata),
        model=ability.model,
        source_mean=source.scores.mean(axis=0, dtype=np.float64),
    )


def _sample(selected: Selected) -> Design | None:
    """The probability sample that the method draws, if it draws one."""
    sample = METHODS[selected.method].traits.sample
    if sample == "simple":
        return Design.random(len(selected.chosen), len(selected.strata))
    if sample == "stratified":
        return stratified_design(selected.strata, selected.chosen, selected.options["allocation"])
    return None


def _calibration(selected: Selected, known: KnownScores) -> Calibration:
    complete = ~np.isnan(known.answers).any(axis=1)
    new, old = complete & ~known.source, complete & known.source
    if new.sum() >= LEAST_MODELS:
        return _measure(selected.weights, known, new, "new_models")
    if selected.calibration is not None:
        return selected.calibration
    return _measure(selected.weights, known, old, "source_models")


def _measure(
    weights: NDArray[np.float64], known: KnownScores, models: NDArray[np.bool_], measured_on: MeasuredOn
) -> Calibration:
    answers = known.answers[models]
    return calibrate(answers @ weights, known.scores[models], answers, measured_on=measured_on)
