"""`POST /power`: how many examples it takes, before anything is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body
from sqlalchemy import Connection

from service.api.context import ContextDep
from service.api.route_classes import QuestionRoute
from service.core.errors import Conflict, FieldError, InvalidRequest
from service.engine.comparison import (
    GateRule,
    GroupDisagreement,
    group_disagreement,
    history,
    measured_size,
    near_margin,
    power,
    suggest_threshold,
    threshold_rates,
)
from service.engine.comparison.planned_gate import planned_gate
from service.engine.data.contracts import Source
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.planning.fields import refuse_missing
from service.engine.planning.plan import PlanError
from service.schemas.comparisons import PowerRequest, Threshold
from service.schemas.gates import PlannedGateView, PlannedSizeView
from service.schemas.problems import refusals
from service.schemas.verdicts import (
    GroupView,
    HistoryView,
    MeasuredSizeView,
    MeasuredView,
    NearMarginView,
    PowerView,
    SizePowerView,
    ThresholdView,
)
from service.store import jobs, matrices

router = APIRouter(tags=["comparisons"], route_class=QuestionRoute)

MOST_CELLS = 20_000_000
MOST_MODELS = 1_000
DEFAULT_SIZES = (10, 25, 50, 100, 250, 500, 1000)
HEALTHY_FAILS = 0.01
GATE_CONFIDENCE = 0.9
EXAMPLE = {"disagreement": 0.2, "difference": 0.02, "probability": 0.8, "sizes": [100, 500, 1000]}


@router.post("/power", responses=refusals(404, 409, 413, 415))
def measure_power(ask: Annotated[PowerRequest, Body(examples=[EXAMPLE])], context: ContextDep) -> PowerView:
    """Examples needed for a difference, and what each size can tell, from how often two models disagree.

    The disagreement is yours, or that of a matrix's models (or of those named). With
    `job_id`, the size each measured method needs; with `threshold`, how often a gate
    you already have is wrong.
    """
    with context.engine.begin() as conn:
        matrix = None if ask.matrix_id is None else _matrix(conn, ask)
        measured = None if ask.job_id is None else _measured(conn, ask)
    group = None if matrix is None else group_disagreement(matrix.scores)
    disagreement = _disagreement(ask, group)
    total = ask.benchmark or (None if matrix is None else len(matrix.examples))
    rule = GateRule(ask.margin, ask.confidence, ask.probability)
    found = power(disagreement, ask.difference, _sizes(ask, total), rule=rule, total=total)
    fields = asdict(found)
    fields["by_size"] = [SizePowerView(**size) for size in fields["by_size"]]
    near = None if matrix is None else near_margin(matrix.accuracies, ask.difference, ask.difference / 2)
    gate = ask.threshold
    return PowerView(
        **fields,
        group=None if group is None else GroupView(**asdict(group)),
        near=None if near is None else NearMarginView(**asdict(near)),
        measured=measured,
        threshold=None if gate is None else _threshold(gate),
        history=None if gate is None or gate.runs is None else _history(gate, gate.runs),
        pull_request_check=_planned(ask, disagreement, total, matrix),
    )


def _planned(
    ask: PowerRequest, disagreement: float, total: int | None, matrix: Matrix | None
) -> PlannedGateView | None:
    """What the default gate of `/compare` finds."""
    if ask.purpose is None:
        return None
    confidence = ask.confidence if "confidence" in ask.model_fields_set else GATE_CONFIDENCE
    rule = GateRule(ask.margin, confidence, ask.probability, ask.preset)
    source = None if matrix is None else Source(matrix.scores, matrix.strata)
    found = planned_gate(
        ask.difference, _sizes(ask, total), rule, total=total, disagreement=disagreement, source=source
    )
    by_size = [PlannedSizeView.model_validate(at.as_json()) for at in found.by_size]
    return PlannedGateView(
        drop=found.drop,
        size=found.size,
        preset=rule.preset,
        margin=rule.margin,
        confidence=rule.confidence,
        power=rule.power,
        pairs=found.pairs,
        by_size=by_size,
    )


def _matrix(conn: Connection, ask: PowerRequest) -> Matrix:
    """The models asked about, complete."""
    record = matrices.get(conn, ask.matrix_id or "", ask.revision)
    count = record.n_models if ask.models is None else len(ask.models)
    if count * record.n_examples > MOST_CELLS or count > MOST_MODELS:
        message = f"{count} models are more than is answered at once; name up to {MOST_MODELS} in `models`."
        raise InvalidRequest(f"/models: {message}", [FieldError("/models", "too_many", message)])
    known = matrices.known_models(conn, record, ask.models or ())
    for at, model in enumerate(ask.models or ()):
        if model not in known:
            message = f"The matrix has no model {model!r}; GET /matrices/{record.id}/models lists them."
            raise InvalidRequest(
                f"/models/{at}: {message}", [FieldError(f"/models/{at}", "unknown_model", message)]
            )
    matrix = matrices.load(conn, record.id, record.revision, models=ask.models)
    try:
        after = refuse_missing(Outline.of(matrix), ask.missing)
    except PlanError as exc:
        raise InvalidRequest(
            f"{exc.field}: {exc.message}", [FieldError(exc.field, "missing", exc.message)]
        ) from None
    if len(after.models) < 2 or after.n_examples < 2:
        have = f"{len(after.models)} of the models and {after.n_examples} of the examples"
        message = f"A disagreement takes at least two different models and two examples; {have} are left."
        where = "/matrix_id" if ask.models is None else "/models"
        raise InvalidRequest(f"{where}: {message}", [FieldError(where, "too_few", message)])
    return matrix if ask.missing == "error" else matrix.fill(ask.missing)


def _sizes(ask: PowerRequest, total: int | None) -> list[int]:
    most = total or max(DEFAULT_SIZES)
    for at, size in enumerate(ask.sizes or ()):
        if total is not None and size > total:
            message = f"{size} is more than the {total} examples of the benchmark."
            raise InvalidRequest(
                f"/sizes/{at}: {message}", [FieldError(f"/sizes/{at}", "too_large", message)]
            )
    return sorted(set(ask.sizes or [size for size in DEFAULT_SIZES if size <= most] or [most]))


def _disagreement(ask: PowerRequest, group: GroupDisagreement | None) -> float:
    found = ask.disagreement if group is None else max(group.median, ask.difference)
    if found is None or ask.difference > found:
        message = "Two models cannot differ by more than they disagree; lower difference."
        raise InvalidRequest(f"/difference: {message}", [FieldError("/difference", "too_large", message)])
    return found


def _measured(conn: Connection, ask: PowerRequest) -> list[MeasuredView]:
    """The size each method of a finished `/mdad` job needs for this difference, smallest first."""
    job = jobs.get(conn, ask.job_id or "")
    if job.kind != "mdad" or job.status != "succeeded":
        message = (
            f"Job {job.id} is a {job.kind} job that is {job.status}; name an mdad job that has succeeded."
        )
        raise Conflict(message, [FieldError("/job_id", "no_result", message)])
    result: Mapping[str, Any] = json.loads(jobs.result(conn, job.id))
    truth = result["recommendation"]["truth"]
    found = []
    for line in result["methods"]:
        cells = [(size["size"], size[truth]["mdad"]) for size in line["sizes"] if size[truth] is not None]
        needed = measured_size([c[0] for c in cells], [c[1] for c in cells], ask.difference)
        by_size = [MeasuredSizeView(size=size, mdad=mdad) for size, mdad in cells]
        found.append(MeasuredView(method=line["label"], size=needed, by_size=by_size))
    return sorted(found, key=lambda line: (line.size is None, line.size or 0))


def _threshold(gate: Threshold) -> ThresholdView:
    rates = threshold_rates(gate.threshold, gate.n, gate.score, gate.bad_score)
    return ThresholdView(**asdict(rates), suggested=suggest_threshold(gate.n, gate.score, HEALTHY_FAILS))


def _history(gate: Threshold, runs: list[float]) -> HistoryView:
    return HistoryView.model_validate(asdict(history(runs, gate.threshold, HEALTHY_FAILS)))
