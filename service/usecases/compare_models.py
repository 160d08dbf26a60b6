"""Compare candidates with a baseline on the examples of a benchmark or of a selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from service.core.errors import FieldError, InvalidRequest
from service.engine.comparison import Evidence, GateRule, Many, SampledEvidence, Setting, Truth, compare_many
from service.engine.comparison.attempt_errors import imbalance
from service.engine.data.scored_matrix import STORED, Scoring
from service.usecases.comparison_inputs import (
    Basis,
    ComparisonContext,
    Side,
    build_comparison_context,
    clusters,
    scores_of_side,
)
from service.usecases.evaluator_cache import EvaluatorCache


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What is asked.

    Attributes
    ----------
    baseline, candidates : Side
        Names or answers.
    several : bool
        Whether the caller gave a list of candidates, however long.
    estimator : "auto" or "plain"
        Whether a sample's full scores are estimated with the help of the source models.
    run_variance : float, optional
        Stated variance of one answer between runs.
    """

    basis: Basis
    baseline: Side
    candidates: Sequence[Side]
    several: bool
    rule: GateRule
    truth: Truth
    clusters: Mapping[str, str] | None = None
    estimator: Literal["auto", "plain"] = "auto"
    run_variance: float | None = None
    scoring: Scoring = STORED


@dataclass(frozen=True, slots=True)
class ModelComparisons:
    """What was found, and on what; `names` are the baseline's and the candidates'.

    `imbalances` says of each candidate whether it or the baseline has many more errors, None if not.
    """

    context: ComparisonContext
    names: list[str]
    places: list[str]
    many: Many
    imbalances: list[str | None]


def compare_models(
    conn: Connection, evaluators: EvaluatorCache, request: ComparisonRequest
) -> ModelComparisons:
    """Compare.

    Raises
    ------
    InvalidRequest
        A model is unknown, two have no example in common, or the truth asks for a noise of
        the runs that is not known.
    """
    sides = [request.baseline, *request.candidates]
    found = build_comparison_context(conn, evaluators, request.basis, sides, request.scoring)
    places = _places(request)
    arrays = [scores_of_side(found, side, where) for side, where in zip(sides, places, strict=True)]
    names = _names(request)
    answered = np.array([~np.isnan(scores.reshape(len(scores), -1)).all(axis=1) for scores in arrays])
    _check_common(answered, names, places)
    _check_noise(request, arrays)
    setting = Setting(
        truth=request.truth,
        clusters=clusters(found, request.clusters, answered[0] & answered[1:].any(axis=0)),
        prior=found.prior,
        evidence=_evidence(request, found),
        baseline=found.full.get(request.baseline) if isinstance(request.baseline, str) else None,
        run_variance=request.run_variance,
        subtasks=found.subtasks,
    )
    many = compare_many(arrays[0], arrays[1:], found.design, request.rule, setting)
    imbalances = [_imbalance(found, request.baseline, candidate) for candidate in request.candidates]
    return ModelComparisons(found, names, places, many, imbalances)


def _imbalance(found: ComparisonContext, baseline: Side, candidate: Side) -> str | None:
    """Whether one of two models of the matrix has many more errors than the other."""
    if not isinstance(baseline, str) or not isinstance(candidate, str):
        return None
    one, other = found.errors.get(baseline), found.errors.get(candidate)
    if one is None or other is None:
        return None
    return imbalance(one, other, "zero" if found.scoring.errors == "zero" else "missing")


def _evidence(request: ComparisonRequest, found: ComparisonContext) -> Evidence | None:
    """None for the paired answers alone."""
    if request.estimator == "auto":
        return found.evidence
    if found.evidence is not None and not isinstance(found.evidence, SampledEvidence):
        message = (
            "The examples of this selection are no probability sample, and the plain difference on them is "
            "that of no benchmark; leave estimator out, or choose by `random` or `stratified`."
        )
        raise InvalidRequest(f"/estimator: {message}", [FieldError("/estimator", "no_sample", message)])
    return None


def _check_noise(request: ComparisonRequest, arrays: Sequence[NDArray[np.float64]]) -> None:
    """New runs are only judged where it is known how runs differ."""
    if request.truth != "runs" or request.run_variance is not None:
        return
    for scores in arrays:
        if scores.ndim == 2 and ((~np.isnan(scores)).sum(axis=1) > 1).any():
            return
    message = (
        "How much one answer varies from run to run is not known; send several runs of a model (a list of "
        "scores an example), or state run_variance: the variance of one answer, 0 for deterministic decoding."
    )
    raise InvalidRequest(f"/truth: {message}", [FieldError("/truth", "run_variance_unknown", message)])


def _places(request: ComparisonRequest) -> list[str]:
    """Where each side stands in the request."""
    if not request.several:
        return ["/baseline", "/candidate"]
    return ["/baseline", *(f"/candidates/{at}" for at in range(len(request.candidates)))]


def _check_common(answered: NDArray[np.bool_], names: list[str], places: list[str]) -> None:
    """Every two of those compared have an example in common."""
    apart = np.argwhere(answered.astype(np.float64) @ answered.T == 0)
    for first, second in apart[apart[:, 0] <= apart[:, 1]]:
        of = f"{names[first]!r} and {names[second]!r}" if first < second else f"{names[first]!r}"
        message = f"None of the {answered.shape[1]} examples was answered by {of}; send answers to the same."
        raise InvalidRequest(
            f"{places[second]}: {message}", [FieldError(places[second], "nothing_in_common", message)]
        )


def _names(request: ComparisonRequest) -> list[str]:
    count = len(request.candidates)
    defaults = ["baseline", *("candidate" if count == 1 else f"candidate {at + 1}" for at in range(count))]
    sides = [request.baseline, *request.candidates]
    given = [side if isinstance(side, str) else side.name for side in sides]
    return [name or default for name, default in zip(given, defaults, strict=True)]
