"""`POST /compare`: is the candidate better, worse, or can these examples not tell?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Body

from service.api import responses
from service.api.context import ContextDep
from service.api.route_classes import QuestionRoute
from service.core import disk
from service.engine.comparison import Comparison, GateRule, Many
from service.engine.data.scored_matrix import Scoring
from service.schemas.comparisons import Answers, CompareRequest
from service.schemas.problems import refusals
from service.schemas.verdicts import (
    ComparedAttemptsView,
    CompareView,
    ComparisonView,
    ModelAttemptsView,
    RankingView,
    Verdict,
)
from service.store import comparisons
from service.usecases.compare_models import ComparisonRequest, ModelComparisons, compare_models
from service.usecases.comparison_inputs import Basis, ComparisonContext, SentAnswers, Side

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

    Each side is a model of the matrix, a model whose answers on the selection were kept, or
    answers by example id. `preset` says what the gate is for: `regression` fails only when a
    drop beyond the margin is shown; `non_inferiority` passes only when one is excluded;
    `improvement` passes only when a gain beyond the margin is shown. Below the share of
    answers `least_coverage` the verdict is `inconclusive`.
    """
    with context.engine.begin() as conn:
        answer = _answer(compare_models(conn, context.evaluators, _request(ask)), ranked=ask.candidates)
        if not ask.store or disk.is_full(context.settings):
            return answer
        body = answer.model_dump_json().encode()
        made = comparisons.add(conn, body, matrix_id=answer.matrix.id, selection_id=answer.selection_id)
    return answer.model_copy(update={"id": made, "page": f"/comparisons/{made}/page"})


def _answer(compared: ModelComparisons, *, ranked: object) -> CompareView:
    """What was found, not kept yet; with a ranking where a list of candidates was sent."""
    found, names, many = compared.context, compared.names, compared.many
    views = [
        _view(comparison, found, names[0], name, said)
        for comparison, name, said in zip(many.comparisons, names[1:], compared.imbalances, strict=True)
    ]
    return CompareView(
        id=None,
        page=None,
        matrix=responses.matrix_ref(found.matrix),
        selection_id=found.selection_id,
        confidence_each=many.confidence_each,
        comparisons=views,
        verdict=_overall([view.verdict for view in views]),
        ranking=_ranking(many, names) if ranked is not None else None,
        drift=None if found.drift is None else responses.drift_view(found.drift),
        attempts=_attempts(found),
        warnings=[*(said for said in compared.imbalances if said is not None), *_set_aside(compared)],
    )


def _set_aside(compared: ModelComparisons) -> list[str]:
    numbers = zip(compared.names, compared.places, strict=True)
    found = [(name, compared.context.set_aside.get(place)) for name, place in numbers]
    return [
        f"{name}: {count} answers to examples outside the selection are set aside."
        for name, count in found
        if count is not None
    ]


def _request(ask: CompareRequest) -> ComparisonRequest:
    candidates = ask.candidates if ask.candidates is not None else [ask.candidate or ""]
    baseline, *others = (_side(side) for side in (ask.baseline, *candidates))
    return ComparisonRequest(
        basis=Basis(ask.matrix_id, ask.revision, ask.selection_id),
        baseline=baseline,
        candidates=others,
        several=ask.candidates is not None,
        rule=GateRule(
            margin=ask.gate_margin,
            confidence=ask.confidence,
            power=ask.power,
            preset=ask.preset,
            coverage=ask.least_coverage,
            subtask_margin=ask.subtask_margin,
        ),
        truth=ask.truth,
        clusters=ask.clusters,
        estimator=ask.estimator,
        run_variance=ask.run_variance,
        scoring=Scoring(ask.score or "mean", ask.errors),
    )


def _side(side: str | Answers) -> Side:
    return side if isinstance(side, str) else SentAnswers(side.name, side.answers)


def _attempts(found: ComparisonContext) -> ComparedAttemptsView | None:
    """What the scores are scores of; None where each cell has one attempt with a score."""
    models = [
        ModelAttemptsView(**asdict(errors), share=errors.share) for _, errors in sorted(found.errors.items())
    ]
    if found.scoring.stored and not any(model.errors or model.most > 1 for model in models):
        return None
    zero = found.scoring.errors == "zero"
    return ComparedAttemptsView(
        score=found.scoring.score, errors="zero" if zero else found.scoring.errors or "missing", models=models
    )


def _view(
    answer: Comparison, found: ComparisonContext, baseline: str, candidate: str, imbalance: str | None
) -> ComparisonView:
    """The comparison with its names, and ids for indices; first, whether one has many more errors."""
    flips = {
        "lost": [found.examples[at] for at in answer.flips.lost],
        "won": [found.examples[at] for at in answer.flips.won],
    }
    fields = asdict(answer) | {"baseline": baseline, "candidate": candidate, "flips": flips}
    if imbalance is not None:
        fields |= {
            "reason": f"{imbalance} {answer.reason}",
            "warnings": (imbalance, *answer.warnings),
        }
    return ComparisonView.model_validate(fields)


def _ranking(many: Many, names: list[str]) -> RankingView:
    fields = asdict(many.ranking)
    fields["models"] = [{**place, "model": names[place["model"]]} for place in fields["models"]]
    fields["tie_groups"] = [[names[at] for at in group] for group in fields["tie_groups"]]
    return RankingView.model_validate(fields)


def _overall(verdicts: list[Verdict]) -> Verdict:
    if "fail" in verdicts:
        return "fail"
    return "pass" if set(verdicts) == {"pass"} else "inconclusive"
