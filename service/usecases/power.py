"""How many examples it takes to tell two models apart, before anything is run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Engine

from service.core.errors import Conflict, FieldError, InvalidRequest
from service.engine.comparison import (
    GateRule,
    GroupDisagreement,
    Power,
    group_disagreement,
    history,
    measured_size,
    near_margin,
    power,
    suggest_threshold,
    threshold_rates,
)
from service.engine.comparison.attempts_budget import (
    AttemptVariance,
    BudgetPlan,
    plan_budget,
)
from service.engine.comparison.planned_gate import PlannedGate, planned_gate
from service.engine.comparison.power import NearMargin
from service.engine.comparison.thresholds import History, ThresholdRates
from service.engine.data.contracts import Source
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.data.scored_matrix import STORED, Denominators, Scoring
from service.engine.planning.fields import refuse_missing
from service.engine.planning.plan import PlanError
from service.store import jobs, matrices
from service.store.records import MatrixRecord
from service.usecases import attempts_variance, scoring
from service.usecases.attempts_variance import AttemptsBudget

Missing = Literal["error", "drop_examples", "drop_models", "zero"]

MOST_CELLS = 20_000_000
MOST_MODELS = 1_000
DEFAULT_SIZES = (10, 25, 50, 100, 250, 500, 1000)
HEALTHY_FAILS = 0.01


@dataclass(frozen=True, slots=True)
class MatrixModels:
    """The models of a matrix whose disagreement counts; all where `names` is None."""

    matrix_id: str
    revision: int | None = None
    names: Sequence[str] | None = None
    missing: Missing = "error"
    scoring: Scoring = STORED


@dataclass(frozen=True, slots=True)
class ThresholdGate:
    """A gate on one model's score: below `threshold` on `n` examples it fails."""

    threshold: float
    n: int
    score: float
    bad_score: float | None = None
    runs: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class PowerQuestion:
    """What is asked.

    Attributes
    ----------
    difference : float
        Between the two models' full scores.
    among : MatrixModels or float
        Whose disagreement, or the disagreement itself.
    rule : GateRule
    check : GateRule, optional
        A pull-request check to plan.
    job_id : str, optional
        An `/mdad` job that measured methods.
    benchmark : int, optional
        Examples of the full benchmark.
    sizes : sequence of int, optional
    budget : AttemptsBudget, optional
    threshold : ThresholdGate, optional
    """

    difference: float
    among: MatrixModels | float
    rule: GateRule
    check: GateRule | None = None
    job_id: str | None = None
    benchmark: int | None = None
    sizes: Sequence[int] | None = None
    threshold: ThresholdGate | None = None
    budget: AttemptsBudget | None = None


@dataclass(frozen=True, slots=True)
class MeasuredMethod:
    """What a method of a job was measured to tell at each size, and the size that is enough."""

    label: str
    size: int | None
    by_size: list[tuple[int, float | None]]


@dataclass(frozen=True, slots=True)
class ThresholdReport:
    """How often a threshold is wrong, one that is seldom, and what earlier runs say."""

    rates: ThresholdRates
    suggested: float
    history: History | None


@dataclass(frozen=True, slots=True)
class PowerReport:
    """What was found; None for what was not asked."""

    power: Power
    group: GroupDisagreement | None
    near: NearMargin | None
    measured: list[MeasuredMethod] | None
    threshold: ThresholdReport | None
    check: tuple[PlannedGate, GateRule] | None
    scoring: Denominators | None = None
    budget: BudgetPlan | None = None


def examples_needed(engine: Engine, question: PowerQuestion) -> PowerReport:
    """Answer the question.

    Raises
    ------
    NotFound
        There is no such matrix, revision or job.
    Conflict
        The job has no measurements.
    InvalidRequest
        A model is unknown, cells are missing, or the numbers contradict each other.
    """
    among = question.among
    with engine.begin() as conn:
        matrix, scored = _load(conn, among) if isinstance(among, MatrixModels) else (None, None)
        variance = None if question.budget is None else _variance(conn, question.budget, among)
        measured = None if question.job_id is None else _measured(conn, question.job_id, question.difference)
    group = None if matrix is None else group_disagreement(matrix.scores)
    disagreement = _disagreement(question.difference, among if isinstance(among, float) else None, group)
    total = question.benchmark or (None if matrix is None else len(matrix.examples))
    sizes = _sizes(question.sizes, total)
    width = question.difference / 2
    return PowerReport(
        power=power(disagreement, question.difference, sizes, rule=question.rule, total=total),
        group=group,
        near=None if matrix is None else near_margin(matrix.accuracies, question.difference, width),
        measured=measured,
        threshold=None if question.threshold is None else _threshold(question.threshold),
        check=_check(question, disagreement, sizes, total, matrix),
        scoring=scored,
        budget=None if variance is None else _budget(question, variance, total),
    )


def _variance(conn: Connection, budget: AttemptsBudget, among: MatrixModels | float) -> AttemptVariance:
    if not isinstance(among, MatrixModels):
        return attempts_variance.given(budget)
    record = matrices.get(conn, among.matrix_id, among.revision)
    return attempts_variance.of_matrix(conn, record, budget, among.scoring, among.names)


def _budget(question: PowerQuestion, variance: AttemptVariance, total: int | None) -> BudgetPlan:
    if total is None or question.budget is None:
        raise _refuse("/benchmark", "unknown_size", "Give the number of examples of the benchmark.")
    rule = question.rule
    return plan_budget(question.budget.runs, total, variance, probability=rule.power, margin=rule.margin)


def _check(
    question: PowerQuestion, disagreement: float, sizes: list[int], total: int | None, matrix: Matrix | None
) -> tuple[PlannedGate, GateRule] | None:
    """What the default gate of `/compare` finds, and its rule."""
    if question.check is None:
        return None
    source = None if matrix is None else Source(matrix.scores, matrix.strata)
    planned = planned_gate(
        question.difference, sizes, question.check, total=total, disagreement=disagreement, source=source
    )
    return planned, question.check


def _load(conn: Connection, among: MatrixModels) -> tuple[Matrix, Denominators | None]:
    """The models asked about, complete, and what their scores are scores of."""
    record = matrices.get(conn, among.matrix_id, among.revision)
    _check_models(conn, record, among.names)
    found = scoring.load(conn, record, among.scoring, among.names)
    matrix = found.matrix
    try:
        after = refuse_missing(Outline.of(matrix), among.missing)
    except PlanError as exc:
        raise _refuse(exc.field, "missing", exc.message) from None
    if len(after.models) < 2 or after.n_examples < 2:
        have = f"{len(after.models)} of the models and {after.n_examples} of the examples"
        message = f"A disagreement takes at least two different models and two examples; {have} are left."
        raise _refuse("/matrix_id" if among.names is None else "/models", "too_few", message)
    return matrix if among.missing == "error" else matrix.fill(among.missing), found.denominators


def _check_models(conn: Connection, record: MatrixRecord, names: Sequence[str] | None) -> None:
    """All known, and not too many for an answer at once."""
    count = record.n_models if names is None else len(names)
    if count * record.n_examples > MOST_CELLS or count > MOST_MODELS:
        message = f"{count} models are more than is answered at once; name up to {MOST_MODELS} in `models`."
        raise _refuse("/models", "too_many", message)
    known = matrices.known_models(conn, record, names or ())
    for at, model in enumerate(names or ()):
        if model not in known:
            message = f"The matrix has no model {model!r}; GET /matrices/{record.id}/models lists them."
            raise _refuse(f"/models/{at}", "unknown_model", message)


def _sizes(asked: Sequence[int] | None, total: int | None) -> list[int]:
    most = total or max(DEFAULT_SIZES)
    for at, size in enumerate(asked or ()):
        if total is not None and size > total:
            message = f"{size} is more than the {total} examples of the benchmark."
            raise _refuse(f"/sizes/{at}", "too_large", message)
    return sorted(set(asked or [size for size in DEFAULT_SIZES if size <= most] or [most]))


def _disagreement(difference: float, stated: float | None, group: GroupDisagreement | None) -> float:
    found = stated if group is None else max(group.median, difference)
    if found is None or difference > found:
        message = "Two models cannot differ by more than they disagree; lower difference."
        raise _refuse("/difference", "too_large", message)
    return found


def _measured(conn: Connection, job_id: str, difference: float) -> list[MeasuredMethod]:
    """The size each method of a finished `/mdad` job needs for this difference, smallest first."""
    job = jobs.get(conn, job_id)
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
        needed = measured_size([c[0] for c in cells], [c[1] for c in cells], difference)
        found.append(MeasuredMethod(line["label"], needed, cells))
    return sorted(found, key=lambda line: (line.size is None, line.size or 0))


def _threshold(gate: ThresholdGate) -> ThresholdReport:
    return ThresholdReport(
        rates=threshold_rates(gate.threshold, gate.n, gate.score, gate.bad_score),
        suggested=suggest_threshold(gate.n, gate.score, HEALTHY_FAILS),
        history=None if gate.runs is None else history(gate.runs, gate.threshold, HEALTHY_FAILS),
    )


def _refuse(where: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{where}: {message}", [FieldError(where, code, message)])
