"""A stored selection and its matrix → all that judging new models' answers takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.comparison.calibration import Calibration
from service.engine.comparison.drift import Drift, drift
from service.engine.comparison.full_scores import Evidence, SampledEvidence
from service.engine.comparison.order_probability import JEFFREYS, prior_from_pairs
from service.engine.comparison.sampling_design import Design
from service.engine.comparison.score_basis import AssistedSample, Basis, KnownScores
from service.engine.comparison.selection_estimates import Selected, basis, evidence
from service.engine.comparison.subtask_differences import Subtasks
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
    evidence : Evidence, optional
        What differences of full scores are estimated from; None where answers are not scores.
    subtasks : Subtasks, optional
        Of the chosen examples; None where the benchmark has none.
    """

    models: tuple[str, ...]
    benchmark: tuple[str, ...]
    chosen: tuple[str, ...]
    known: KnownScores
    by: Basis
    prior: float
    evidence: Evidence | None = None
    subtasks: Subtasks | None = None

    @property
    def design(self) -> Design:
        """The sample the chosen examples are, or are taken for where they are none."""
        return (
            self.by if isinstance(self.by, Design) else Design.random(len(self.chosen), len(self.benchmark))
        )

    def basis(self, estimator: Literal["auto", "plain"] = "auto") -> Basis:
        """What scores are estimated by: of a sample with the source models' help, or without it."""
        if estimator == "auto" and isinstance(self.by, Design) and isinstance(self.evidence, SampledEvidence):
            return AssistedSample(self.by, self.evidence)
        return self.by

    @property
    def cells(self) -> int:
        """What it weighs in memory, in numbers."""
        fitted = 0 if self.evidence is None else self.evidence.cells
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
    source = _source(matrix, body)
    measured = body.get("calibration")
    selected = Selected(
        method=body["method"],
        options=body["options"],
        chosen=chosen,
        weights=np.array([example["weight"] for example in body["examples"]]),
        strata=matrix.strata,
        weighted=body["estimator"] in METHODS[body["method"]].estimators,
        ability=_ability(source, body, chosen) if of_scores else None,
        calibration=None if measured is None else _calibration(measured),
    )
    rests_on = evidence(selected, source)
    return SelectionEvaluator(
        models=matrix.models,
        benchmark=matrix.examples,
        chosen=tuple(matrix.examples[at] for at in chosen),
        known=known,
        by=basis(selected, known),
        prior=pair_prior(matrix),
        evidence=rests_on,
        subtasks=subtasks_of(matrix, chosen, sampled=isinstance(rests_on, SampledEvidence)),
    )


def subtasks_of(matrix: Matrix, chosen: NDArray[np.integer], *, sampled: bool) -> Subtasks | None:
    """The subtasks of the chosen examples; None where the benchmark has none."""
    if len(matrix.subtasks) < 2:
        return None
    sizes = np.bincount(matrix.strata, minlength=len(matrix.subtasks))
    return Subtasks(matrix.strata[chosen], matrix.subtasks, sizes, sampled)


def _source(matrix: Matrix, body: Mapping[str, Any]) -> Source:
    """The source models' scores; all models are sources where none was asked for."""
    names = set(body["source_models"]) or set(matrix.models)
    rows = np.flatnonzero([model in names for model in matrix.models])
    return Source(matrix.scores[rows], matrix.strata)


def _ability(source: Source, body: Mapping[str, Any], chosen: NDArray[np.integer]) -> AbilityEstimator:
    inclusion = [example.get("inclusion") for example in body["examples"]]
    return AbilityEstimator(
        model=fit_ability_model(source),
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
    usual = 0.0
    if isinstance(then.by, AbilityEstimator):
        usual = float(np.sqrt((then.by.predict(then.known.answers).deviation() ** 2).mean()))
    return drift(estimates, scores, np.arange(len(scores)) >= len(then.models), usual=usual)


def _estimates(by: Basis, answers: NDArray[np.float64]) -> NDArray[np.float64]:
    if isinstance(by, Design | AssistedSample):
        return (by if isinstance(by, Design) else by.design).mean(answers)
    if isinstance(by, AbilityEstimator):
        return by.estimates(answers)
    return np.asarray(answers @ by.coefficients + by.intercept)
