"""Sessions: hand out examples in batches, take answers, look, until the question is decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from service.core.errors import Conflict, FieldError, NotFound
from service.engine.comparison import GateRule
from service.engine.comparison.gate import Preset
from service.engine.comparison.sequential import (
    FIRST,
    Known,
    Look,
    LookPlan,
    Looks,
    Mode,
    Prepared,
    Question,
    any_look,
    look,
    plan_looks,
    put_in_order,
)
from service.jobs.kinds import ENGINE_VERSION
from service.store import matrices, sessions
from service.store.database import lock
from service.store.records import MatrixRecord, SessionOrder, SessionRecord, SessionStatus
from service.store.workspace_scope import owner
from service.usecases.session_answers import (
    Given,
    by_place,
    completed,
    leading,
    named,
    new_answers,
    refuse,
)
from service.usecases.session_cache import Benchmark, SessionCache, baseline_of

MOST_DESIGNED = 1_000
"""Examples of a designed order, which takes 10 s at 12,000 examples and 400 models."""
LEAST_SCORED = 2
"""Answers with a score without which there is no look."""


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """What a session is to decide, and how.

    Attributes
    ----------
    baseline : str, optional
        A model of the matrix; a comparison needs one.
    precision : float, optional
        Half the interval's width at which a score is known; None for a comparison.
    budget : int, optional
        The whole benchmark for None.
    errors : "zero" or "missing"
        What an error of the evaluated system counts as.
    clusters : mapping of str to str, optional
        Of every example.
    """

    matrix_id: str
    revision: int | None
    baseline: str | None
    preset: Preset
    margin: float
    confidence: float
    precision: float | None
    run_variance: float | None
    budget: int | None
    batch: int
    looks: Looks
    mode: Mode
    seed: int
    errors: Literal["zero", "missing"]
    clusters: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How many sessions of a workspace may be open, and how long without an answer."""

    open_sessions: int
    idle: timedelta


@dataclass(frozen=True, slots=True, eq=False)
class SessionState:
    """A session, and which examples it waits for.

    Attributes
    ----------
    next_batch : tuple of str
        Handed out by this call.
    outstanding : tuple of str
        Handed out, not answered.
    next_look : int, optional
        Number of examples at which it is looked at next.
    """

    record: SessionRecord
    matrix: MatrixRecord
    question: Question
    next_batch: tuple[str, ...]
    outstanding: tuple[str, ...]
    scored: int
    next_look: int | None


def create_session(
    conn: Connection, cache: SessionCache, request: SessionRequest, limits: SessionLimits
) -> SessionState:
    """Start a session and hand out its first batch.

    Raises
    ------
    InvalidRequest, NotFound, Conflict
        The request does not fit the benchmark, or too many sessions are open.
    """
    matrix = _matrix(conn, request)
    _check_fits(request, matrix)
    baseline = None if request.baseline is None else _baseline(conn, matrix, request.baseline)
    benchmark = cache.benchmark(conn, matrix)
    clusters = None if request.clusters is None else _clusters(request.clusters, benchmark)
    budget = request.budget or matrix.n_examples
    known = Known(benchmark.sources, baseline, clusters)
    order = put_in_order(known, budget, request.seed, request.mode)
    # Those who ask at one moment are counted one after another.
    lock(conn, f"tastetest.sessions.{owner(conn)}")
    if sessions.open_sessions(conn, limits.idle) >= limits.open_sessions:
        message = f"{limits.open_sessions:,} sessions are open, which is the limit; stop some."
        raise Conflict(message, [FieldError("", "too_many_sessions", message)])
    session_id = sessions.add(
        conn,
        matrix=matrix,
        settings=_settings(request, budget),
        engine_version=ENGINE_VERSION,
        order=SessionOrder(order.examples, order.sizes, clusters),
        handed_out=min(request.batch, budget),
    )
    record = sessions.get(conn, session_id, limits.idle)
    return _state(conn, cache, record, handed=(0, record.handed_out))


def read_session(conn: Connection, cache: SessionCache, session_id: str, idle: timedelta) -> SessionState:
    """A session as it is.

    Raises
    ------
    NotFound
        No such session.
    """
    return _state(conn, cache, sessions.get(conn, session_id, idle))


def stop_session(conn: Connection, cache: SessionCache, session_id: str, idle: timedelta) -> SessionState:
    """End a session; what it knows stays. One that has ended stays as it is."""
    record = sessions.hold(conn, session_id, idle)
    if record.status == "open":
        sessions.change(conn, record.id, status="stopped", handed_out=record.handed_out, looks=record.looks)
        record = sessions.get(conn, session_id, idle)
    return _state(conn, cache, record)


def add_answers(
    conn: Connection,
    cache: SessionCache,
    session_id: str,
    answers: Mapping[str, Given],
    idle: timedelta,
    *,
    another_batch: bool = False,
) -> SessionState:
    """Take answers, look if it is time, and hand out the next batch.

    Answers that are there already, with the same values, change nothing. Callers of one session
    come one after another.

    Raises
    ------
    InvalidRequest
        An answer is to an example that was not handed out, or differs from the one before.
    Conflict
        The session has ended and an answer is new.
    """
    record = sessions.hold(conn, session_id, idle)
    matrix = matrices.get(conn, record.matrix_id, record.revision)
    benchmark, prepared = cache.benchmark(conn, matrix), cache.prepared(conn, record, matrix)
    before = sessions.answers(conn, record.id)
    given = by_place(record, benchmark, prepared, answers)
    new = new_answers(given, before, benchmark, prepared)
    if record.status != "open":
        if new or another_batch:
            raise _ended(record)
        return _state(conn, cache, record)
    sessions.add_answers(conn, record.id, new)
    status, looks = _looked(record, prepared, before | new)
    batches = completed(record, before, new) + another_batch if status == "open" else 0
    handed = min(record.handed_out + batches * record.settings["batch"], record.settings["budget"])
    if new or handed > record.handed_out:
        sessions.change(conn, record.id, status=status, handed_out=handed, looks=looks)
    changed = sessions.get(conn, record.id, idle)
    return _state(conn, cache, changed, handed=(record.handed_out, handed))


def question_of(settings: Mapping[str, Any]) -> Question:
    """The question of a stored session."""
    asked = settings["question"]
    rule = GateRule(margin=asked["margin"], confidence=asked["confidence"], preset=asked["preset"])
    return Question(rule, asked["precision"], asked["run_variance"])


def _settings(request: SessionRequest, budget: int) -> dict[str, Any]:
    question = {
        "kind": "compare" if request.precision is None else "score",
        "baseline": request.baseline,
        "preset": request.preset,
        "margin": request.margin,
        "confidence": request.confidence,
        "precision": request.precision,
        "run_variance": request.run_variance,
    }
    return {
        "question": question,
        "budget": budget,
        "batch": request.batch,
        "looks": request.looks,
        "mode": request.mode,
        "seed": request.seed,
        "errors": request.errors,
    }


def _matrix(conn: Connection, request: SessionRequest) -> MatrixRecord:
    try:
        return matrices.get(conn, request.matrix_id, request.revision)
    except NotFound as exc:
        field = "/matrix_id" if request.revision is None else "/revision"
        raise NotFound(exc.detail, [FieldError(field, "not_found", exc.detail)]) from None


def _check_fits(request: SessionRequest, matrix: MatrixRecord) -> None:
    total = matrix.n_examples
    if request.budget is not None and request.budget > total:
        raise refuse(
            "/budget", "too_large", f"The benchmark has {total:,} examples; ask for at most so many."
        )
    if request.mode == "designed" and (matrix.missing_cells or matrix.n_models < 2):
        message = (
            f"A designed order needs two models with all scores; the matrix has {matrix.n_models} models and "
            f"{matrix.missing_cells:,} cells without a score. Leave mode out for a random order."
        )
        raise refuse("/mode", "does_not_fit", message)
    if request.mode == "designed" and (request.budget or total) > MOST_DESIGNED:
        message = f"A designed order has at most {MOST_DESIGNED:,} examples; give so large a budget at most."
        raise refuse("/budget", "too_large", message)


def _baseline(conn: Connection, matrix: MatrixRecord, name: str) -> NDArray[np.float64]:
    where = "/question/baseline"
    if not matrices.known_models(conn, matrix, [name]):
        raise refuse(
            where,
            "unknown_model",
            f"There is no model {name!r} in the matrix; GET /matrices/{matrix.id}/models?revision="
            f"{matrix.revision} lists them.",
        )
    row = baseline_of(conn, matrix, name)
    if missing := int(np.isnan(row).sum()):
        message = (
            f"{name!r} has no score on {missing:,} of {len(row):,} examples; a baseline needs all of them. "
            "Name another model, or upload its results again."
        )
        raise refuse(where, "missing_scores", message)
    return row


def _clusters(given: Mapping[str, str], benchmark: Benchmark) -> NDArray[np.int64]:
    without = [example for example in benchmark.examples if example not in given]
    if without:
        message = f"{len(without):,} examples have no cluster ({named(without)}); give one to each of them."
        raise refuse("/clusters", "missing_cluster", message)
    names = [given[example] for example in benchmark.examples]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _looked(
    record: SessionRecord, prepared: Prepared, answers: Mapping[int, float]
) -> tuple[SessionStatus, list[Mapping[str, Any]]]:
    """Every look that the answers allow, up to a decision."""
    first = leading(answers)
    scores = np.array([answers[place] for place in range(first)])
    looks, status = list(record.looks), record.status
    last = looks[-1]["size"] if looks else 0
    question = question_of(record.settings)
    for plan, number in _due(record, prepared.examples, last, first):
        size = plan.sizes[number]
        if np.isfinite(scores[:size]).sum() < LEAST_SCORED:
            status = "exhausted" if size == plan.budget else status
            continue
        found = look(prepared, plan, question, scores[:size], number)
        looks.append(asdict(found))
        if found.decision is not None:
            return _ending(found), looks
    return status, looks


def _ending(found: Look) -> SessionStatus:
    return "exhausted" if found.decision == "inconclusive" else "decided"


def _plan(record: SessionRecord, total: int) -> LookPlan:
    asked = record.settings
    return plan_looks(asked["budget"], asked["batch"], total, asked["question"]["confidence"], asked["looks"])


def _due(record: SessionRecord, total: int, last: int, first: int) -> list[tuple[LookPlan, int]]:
    """Looks after `last` examples that `first` answers from the beginning of the order allow."""
    if record.settings["looks"] == "planned":
        plan = _plan(record, total)
        return [(plan, number) for number, size in enumerate(plan.sizes) if last < size <= first]
    budget = record.settings["budget"]
    if first <= last or first < min(FIRST, budget):
        return []
    return [(any_look(first, budget, total, record.settings["question"]["confidence"]), 0)]


def _state(
    conn: Connection, cache: SessionCache, record: SessionRecord, handed: tuple[int, int] = (0, 0)
) -> SessionState:
    matrix = matrices.get(conn, record.matrix_id, record.revision)
    examples = cache.benchmark(conn, matrix).examples
    order = cache.prepared(conn, record, matrix).order
    answers = sessions.answers(conn, record.id)
    going = record.status == "open"
    places = [place for place in range(record.handed_out) if going and place not in answers]
    last = record.looks[-1]["size"] if record.looks else 0
    sizes = _plan(record, matrix.n_examples).sizes
    if record.settings["looks"] == "any":
        sizes = (max(leading(answers) + 1, min(FIRST, record.settings["budget"])),)
    return SessionState(
        record=record,
        matrix=matrix,
        question=question_of(record.settings),
        next_batch=tuple(examples[int(at)] for at in order[slice(*handed)]),
        outstanding=tuple(examples[int(order[place])] for place in places),
        scored=sum(not np.isnan(score) for score in answers.values()),
        next_look=next((size for size in sizes if size > last), None) if going else None,
    )


def _ended(record: SessionRecord) -> Conflict:
    words = {
        "decided": "is decided",
        "exhausted": "has used up its budget",
        "stopped": "was stopped",
        "expired": "has expired",
    }
    message = f"The session {words[record.status]}; it takes no more answers. Start a new one."
    return Conflict(message, [FieldError("/answers", f"session_{record.status}", message)])
