"""`POST /power`: how many examples it takes, before anything is run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Body

from service.api.context import ContextDep
from service.api.route_classes import QuestionRoute
from service.engine.comparison import GateRule
from service.engine.comparison.planned_gate import PlannedGate
from service.engine.data.scored_matrix import Scoring
from service.schemas.comparisons import PowerRequest
from service.schemas.gates import PlannedGateView, PlannedSizeView
from service.schemas.power import (
    GroupView,
    HistoryView,
    MeasuredSizeView,
    MeasuredView,
    NearMarginView,
    PowerView,
    SizePowerView,
    ThresholdView,
)
from service.schemas.problems import refusals
from service.schemas.selections import AttemptsBudgetView, ScoringView
from service.usecases.attempts_variance import AttemptsBudget
from service.usecases.power import (
    MatrixModels,
    MeasuredMethod,
    PowerQuestion,
    PowerReport,
    ThresholdGate,
    examples_needed,
)

router = APIRouter(tags=["comparisons"], route_class=QuestionRoute)

GATE_CONFIDENCE = 0.9
EXAMPLE = {"disagreement": 0.2, "difference": 0.02, "probability": 0.8, "sizes": [100, 500, 1000]}


@router.post("/power", responses=refusals(404, 409, 413, 415))
def measure_power(ask: Annotated[PowerRequest, Body(examples=[EXAMPLE])], context: ContextDep) -> PowerView:
    """Examples needed for a difference, and what each size can tell, from how often two models disagree.

    The disagreement is yours, or that of a matrix's models (or of those named). With
    `job_id`, the size each measured method needs; with `threshold`, how often a gate
    you already have is wrong.
    """
    return _view(examples_needed(context.engine, _question(ask)))


def _question(ask: PowerRequest) -> PowerQuestion:
    gate = ask.threshold
    confidence = ask.confidence if "confidence" in ask.model_fields_set else GATE_CONFIDENCE
    check = GateRule(ask.margin, confidence, ask.probability, ask.preset)
    return PowerQuestion(
        difference=ask.difference,
        among=_among(ask),
        rule=GateRule(ask.margin, ask.confidence, ask.probability),
        check=None if ask.purpose is None else check,
        job_id=ask.job_id,
        benchmark=ask.benchmark,
        sizes=ask.sizes,
        threshold=None if gate is None else ThresholdGate(**gate.model_dump()),
        budget=None if ask.budget is None else AttemptsBudget(**ask.budget.model_dump()),
    )


def _among(ask: PowerRequest) -> MatrixModels | float:
    """The request has one of the two."""
    if ask.matrix_id is not None:
        scoring = Scoring(ask.score or "mean", ask.errors)
        return MatrixModels(ask.matrix_id, ask.revision, ask.models, ask.missing, scoring)
    return ask.disagreement or 0.0


def _view(found: PowerReport) -> PowerView:
    fields = asdict(found.power)
    fields["by_size"] = [SizePowerView(**size) for size in fields["by_size"]]
    gate = found.threshold
    return PowerView(
        **fields,
        group=None if found.group is None else GroupView(**asdict(found.group)),
        near=None if found.near is None else NearMarginView(**asdict(found.near)),
        measured=None if found.measured is None else [_measured_view(line) for line in found.measured],
        threshold=None if gate is None else ThresholdView(**asdict(gate.rates), suggested=gate.suggested),
        history=None
        if gate is None or gate.history is None
        else HistoryView.model_validate(asdict(gate.history)),
        pull_request_check=None if found.check is None else _check_view(*found.check),
        budget=None if found.budget is None else AttemptsBudgetView.model_validate(found.budget.as_json()),
        scoring=None if found.scoring is None else ScoringView(**asdict(found.scoring)),
    )


def _measured_view(line: MeasuredMethod) -> MeasuredView:
    by_size = [MeasuredSizeView(size=size, mdad=mdad) for size, mdad in line.by_size]
    return MeasuredView(method=line.label, size=line.size, by_size=by_size)


def _check_view(gate: PlannedGate, rule: GateRule) -> PlannedGateView:
    return PlannedGateView(
        drop=gate.drop,
        size=gate.size,
        preset=rule.preset,
        margin=rule.margin,
        confidence=rule.confidence,
        power=rule.power,
        pairs=gate.pairs,
        by_size=[PlannedSizeView.model_validate(at.as_json()) for at in gate.by_size],
    )
