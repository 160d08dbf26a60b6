"""`POST /compare`: is the candidate better, worse, or can these examples not tell?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Body
from numpy.typing import NDArray

from service.api import responses
from service.api.context import AppContext, ContextDep
from service.api.route_classes import QuestionRoute
from service.core.errors import FieldError, InvalidRequest
from service.engine.comparison import Comparison, GateRule, Many, compare_many
from service.schemas.comparisons import CompareRequest
from service.schemas.problems import refusals
from service.schemas.verdicts import CompareView, ComparisonView, RankingView, Verdict
from service.usecases.comparison_inputs import (
    Basis,
    ComparisonContext,
    SentAnswers,
    Side,
    build_comparison_context,
    clusters,
    scores_of_side,
)

router = APIRouter(tags=["comparisons"], route_class=QuestionRoute)

ID = "0198c0de-7a57-7e57-8000-000000000001"
EXAMPLE = {
    "selection_id": ID,
    "baseline": "gpt-4",
    "candidate": {"name": "nightly", "answers": {"q17": 1, "q42": 0}},
    "margin": 0.02,
}


@router.post("/compare", responses=refusals(404, 413, 415))
def compare(ask: Annotated[CompareRequest, Body(examples=[EXAMPLE])], context: ContextDep) -> CompareView:
    """Compare one or more candidates with a baseline on the same examples, and say what that can tell.

    Each side is a model of the matrix, a model whose answers on the selection were
    kept, or answers by example id. The verdict follows one rule: `pass` when the
    interval of candidate − baseline lies above −margin, `fail` when it lies below,
    else `inconclusive`.
    """
    found, names, many = _compared(context, ask)
    comparisons = [
        _view(comparison, found, names[0], name)
        for comparison, name in zip(many.comparisons, names[1:], strict=True)
    ]
    return CompareView(
        matrix=responses.matrix_ref(found.matrix),
        selection_id=found.selection_id,
        confidence_each=many.confidence_each,
        comparisons=comparisons,
        verdict=_overall([comparison.verdict for comparison in comparisons]),
        ranking=_ranking(many, names) if ask.candidates is not None else None,
        drift=None if found.drift is None else responses.drift_view(found.drift),
        warnings=[
            f"{names[at]}: {found.set_aside[where]} answers to examples outside the selection are set aside."
            for at, where in enumerate(_pointers(ask))
            if where in found.set_aside
        ],
    )


def _compared(context: AppContext, ask: CompareRequest) -> tuple[ComparisonContext, list[str], Many]:
    with context.engine.begin() as conn:
        basis = Basis(ask.matrix_id, ask.revision, ask.selection_id)
        sides = _sides(ask)
        found = build_comparison_context(conn, context.evaluators, basis, sides)
    places = _pointers(ask)
    arrays = [scores_of_side(found, side, where) for side, where in zip(sides, places, strict=True)]
    names = _names(ask)
    answered = np.array([~np.isnan(scores.reshape(len(scores), -1)).all(axis=1) for scores in arrays])
    _check_common(answered, names, places)
    many = compare_many(
        arrays[0],
        arrays[1:],
        found.design,
        GateRule(ask.margin, ask.confidence, ask.power),
        truth=ask.truth,
        clusters=clusters(found, ask.clusters, answered[0] & answered[1:].any(axis=0)),
        prior=found.prior,
        estimator=found.estimator,
        known=found.known,
    )
    return found, names, many


def _sides(ask: CompareRequest) -> list[Side]:
    """The baseline, then each candidate."""
    candidates = ask.candidates if ask.candidates is not None else [ask.candidate or ""]
    return [
        side if isinstance(side, str) else SentAnswers(side.name, side.answers)
        for side in (ask.baseline, *candidates)
    ]


def _pointers(ask: CompareRequest) -> list[str]:
    """Where each side stands in the request."""
    if ask.candidates is None:
        return ["/baseline", "/candidate"]
    return ["/baseline", *(f"/candidates/{at}" for at in range(len(ask.candidates)))]


def _check_common(answered: NDArray[np.bool_], names: list[str], places: list[str]) -> None:
    """Every two of those compared have an example in common."""
    apart = np.argwhere(answered.astype(np.float64) @ answered.T == 0)
    for first, second in apart[apart[:, 0] <= apart[:, 1]]:
        of = f"{names[first]!r} and {names[second]!r}" if first < second else f"{names[first]!r}"
        message = f"None of the {answered.shape[1]} examples was answered by {of}; send answers to the same."
        raise InvalidRequest(
            f"{places[second]}: {message}", [FieldError(places[second], "nothing_in_common", message)]
        )


def _names(ask: CompareRequest) -> list[str]:
    count = len(ask.candidates or [None])
    defaults = ["baseline", *("candidate" if count == 1 else f"candidate {at + 1}" for at in range(count))]
    given = [side if isinstance(side, str) else side.name for side in _sides(ask)]
    return [name or default for name, default in zip(given, defaults, strict=True)]


def _view(answer: Comparison, found: ComparisonContext, baseline: str, candidate: str) -> ComparisonView:
    """The comparison with its names, and ids for indices."""
    flips = {
        "lost": [found.examples[at] for at in answer.flips.lost],
        "won": [found.examples[at] for at in answer.flips.won],
    }
    told = asdict(answer) | {"baseline": baseline, "candidate": candidate, "flips": flips}
    return ComparisonView.model_validate(told)


def _ranking(many: Many, names: list[str]) -> RankingView:
    told = asdict(many.ranking)
    told["models"] = [{**place, "model": names[place["model"]]} for place in told["models"]]
    told["tie_groups"] = [[names[at] for at in group] for group in told["tie_groups"]]
    return RankingView.model_validate(told)


def _overall(verdicts: list[Verdict]) -> Verdict:
    if "fail" in verdicts:
        return "fail"
    return "pass" if set(verdicts) == {"pass"} else "inconclusive"
