"""A stored selection and its matrix → all that judging new models' answers takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.comparison.calibration import Calibration
from service.engine.comparison.drift import Drift, drift
from service.engine.comparison.order_probability import JEFFREYS, prior_from_pairs
from service.engine.comparison.sampling_design import Design
from service.engine.comparison.scores import Basis, KnownScores
from service.engine.comparison.selection_estimates import Selected, basis
from service.engine.data.contracts import Source
from service.engine.data.matrix import Matrix, MissingPolicy
from service.engine.data.pairs import choose_pairs, discordant
from service.engine.prediction.ability_model import fit_ability_model
from service.engine.selection.registry import METHODS

MOST_PAIRS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class SelectionEvaluator:
    """How a selection stands for its benchmark.

    Attributes
    ----------
    models : tuple of str
        The matrix's, the rows of `known`.
    benchmark : tuple of str
        Ids of the N examples it was chosen from.
    chosen : tuple of str
        Ids of the n chosen examples, the columns of `known.answers`.
    known : KnownScores
    by : Design, AbilityEstimator or Estimator
        What full scores are estimated by.
    prior : float
        Of the direction of a discordant example (`prior_from_pairs`).
    """

    models: tuple[str, ...]
    benchmark: tuple[str, ...]
    chosen: tuple[str, ...]
    known: KnownScores
    by: Basis
    prior: float

    @property
    def design(self) -> Design:
        """The sample the chosen examples are, or are taken for where they are none."""
        return (
            self.by if isinstance(self.by, Design) else Design.random(len(self.chosen), len(self.benchmark))
        )

    @property
    def cells(self) -> int:
        """What it weighs in memory, in numbers."""
        fitted = self.by.model.cells if isinstance(self.by, AbilityEstimator) else 0
        return int(self.known.answers.size) + len(self.models) + len(self.benchmark) + fitted


def build_evaluator(matrix: Matrix, body: Mapping[str, Any], *, confidences: bool) -> SelectionEvaluator:
    """Work out how a selection stands for the matrix it was chosen from.

    Parameters
    ----------
    matrix : Matrix
        In the revision the selection was made on.
    body : mapping
        The selection's result: method, options, examples with weights, source_models,
        scored_by, missing, estimator, calibration and, as far as it has them, expect and
        each example's inclusion probability.
    confidences : bool
        Whether answers are the models' confidences instead of their scores.
    """
    matrix = _filled(matrix, body.get("missing", "error"))
    place = {example: at for at, example in enumerate(matrix.examples)}
    chosen = np.array([place[example["id"]] for example in body["examples"]])
    sources = set(body["source_models"])
    answers = matrix.confidences if confidences and matrix.confidences is not None else matrix.scores
    known = KnownScores(
        scores=matrix.accuracies,
        answers=answers[:, chosen].astype(np.float64),
        source=np.array([model in sources for model in matrix.models]),
    )
    of_scores = answers is matrix.scores
    measured = body.get("calibration")
    selected = Selected(
        method=body["method"],
        options=body["options"],
        chosen=chosen,
        weights=np.array([example["weight"] for example in body["examples"]]),
        strata=matrix.strata,
        weighted=body["estimator"] in METHODS[body["method"]].estimators,
        ability=_ability(matrix, body, chosen) if of_scores else None,
        calibration=None if measured is None else _calibration(measured),
    )
    return SelectionEvaluator(
        models=matrix.models,
        benchmark=matrix.examples,
        chosen=tuple(matrix.examples[at] for at in chosen),
        known=known,
        by=basis(selected, known),
        prior=pair_prior(matrix),
    )


def _ability(matrix: Matrix, body: Mapping[str, Any], chosen: NDArray[np.integer]) -> AbilityEstimator:
    """The predictor from the source models' scores; all models are sources where none was asked for."""
    names = set(body["source_models"]) or set(matrix.models)
    rows = np.flatnonzero([model in names for model in matrix.models])
    inclusion = [example.get("inclusion") for example in body["examples"]]
    return AbilityEstimator(
        model=fit_ability_model(Source(matrix.scores[rows], matrix.strata)),
        chosen=chosen,
        expect=body.get("expect") or "like",
        inclusion=None if None in inclusion else np.array(inclusion, dtype=np.float64),
    )


def _calibration(measured: Mapping[str, Any]) -> Calibration:
    size = measured["effective_size"]
    return Calibration(**{**measured, "effective_size": np.inf if size is None else size})


def pair_prior(matrix: Matrix) -> float:
    """How discordant examples of this matrix's pairs split; Jeffreys' prior where that is not known."""
    if not matrix.binary or matrix.missing is not None or len(matrix.models) < 2:
        return JEFFREYS
    pairs = choose_pairs(len(matrix.models), 1, MOST_PAIRS, np.random.default_rng(0))
    scores: NDArray[np.uint8] = matrix.scores.astype(np.uint8, copy=False)
    return prior_from_pairs(*discordant(scores, pairs.first, pairs.second))


def _filled(matrix: Matrix, policy: str) -> Matrix:
    known: dict[str, MissingPolicy] = {name: name for name in get_args(MissingPolicy)}
    return matrix.fill(known[policy]) if policy in known else matrix


def drifted(then: SelectionEvaluator, joined: Matrix) -> Drift:
    """How the selection does on models that joined the matrix after it was made.

    Parameters
    ----------
    then : SelectionEvaluator
    joined : Matrix
        The models that joined, over at least the examples of `then.benchmark`; those with
        a missing score there are left out.
    """
    place = {example: at for at, example in enumerate(joined.examples)}
    whole = joined.take(examples=np.array(sorted(place[example] for example in then.benchmark)))
    if whole.missing is not None:
        whole = whole.take(models=np.flatnonzero(~whole.missing.any(axis=1)))
    column = {example: at for at, example in enumerate(whole.examples)}
    answers = whole.scores[:, [column[example] for example in then.chosen]].astype(np.float64)
    estimates = _estimates(then.by, np.concatenate((then.known.answers, answers)))
    scores = np.concatenate((then.known.scores, whole.accuracies))
    return drift(estimates, scores, np.arange(len(scores)) >= len(then.models))


def _estimates(by: Basis, answers: NDArray[np.float64]) -> NDArray[np.float64]:
    if isinstance(by, Design):
        return by.mean(answers)
    if isinstance(by, AbilityEstimator):
        return by.estimates(answers)
    return np.asarray(answers @ by.coefficients + by.intercept)
