"""Sessions: examples a batch at a time, until the question is decided."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Response
from fastapi.responses import HTMLResponse

from service.api import responses
from service.api.context import AppContext, ContextDep
from service.api.idempotency import IdempotencyKey, hash_of_body, run_once, stored_answer
from service.api.parameters import Cursor, Limit, OfMatrix
from service.api.route_classes import StrictRoute
from service.engine.comparison.sequential import Look
from service.engine.comparison.sequential.wording import reason
from service.report import session_page, templates_env
from service.schemas.problems import refusals
from service.schemas.sessions import (
    AnswerFailed,
    LookView,
    QuestionView,
    SessionAnswer,
    SessionAnswers,
    SessionCreate,
    SessionPage,
    SessionSummary,
    SessionView,
)
from service.store import sessions
from service.store.database import Transaction
from service.store.idempotency import StoredAnswer
from service.store.records import SessionRecord
from service.usecases import sessions as usecase
from service.usecases.session_answers import AnswerError, Given
from service.usecases.sessions import SessionLimits, SessionRequest, SessionState

router = APIRouter(prefix="/sessions", tags=["sessions"], route_class=StrictRoute)

SessionId = Annotated[str, Path(description="From `POST /sessions`.")]
ID = "0198c0de-7a57-7e57-8000-000000000001"
CREATE = {
    "matrix_id": ID,
    "question": {"kind": "compare", "baseline": "gpt-4", "preset": "regression"},
    "budget": 200,
}
ANSWERS = {"answers": {"q17": 1, "q42": 0, "q5": None}}
COVERAGE = 0.95
"""Share of answers with a score below which a session warns."""


@router.post("", status_code=201, response_model=SessionView, responses=refusals(404, 409, 413, 415))
def create_session(
    ask: Annotated[SessionCreate, Body(examples=[CREATE])],
    context: ContextDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Start a session: the answer holds the first batch of examples to run.

    Send their answers to `POST /sessions/{session_id}/answers`, which says whether the question is
    decided and otherwise hands out the next batch. With `looks: planned` the error is spread over looks after
    whole batches, with `any` the interval holds whenever it is looked at; either way false
    decisions stay within 1 − `confidence`.
    """
    settings = context.settings
    limits = SessionLimits(settings.max_open_sessions, _idle(context))

    def work(conn: Transaction) -> StoredAnswer:
        state = usecase.create_session(conn, context.sessions, _request(ask), limits)
        return stored_answer(201, session_view(state), {"Location": f"/sessions/{state.record.id}"})

    return run_once(context, idempotency_key, hash_of_body("POST /sessions", ask), work)


@router.get("", responses=refusals(404))
def list_sessions(
    context: ContextDep, matrix_id: OfMatrix = None, cursor: Cursor = None, limit: Limit = 50
) -> SessionPage:
    """All sessions, newest first."""
    with context.engine.begin() as conn:
        page = sessions.page(conn, cursor, limit, _idle(context), matrix_id=matrix_id)
    items = [SessionSummary(**_summary(record)) for record in page.items]
    return SessionPage(items=items, next_cursor=page.next_cursor)


@router.get("/{session_id}", responses=refusals(404))
def get_session(session_id: SessionId, context: ContextDep) -> SessionView:
    """A session: where it stands, every look, and the examples it waits for."""
    with context.engine.begin() as conn:
        return session_view(usecase.read_session(conn, context.sessions, session_id, _idle(context)))


@router.get(
    "/{session_id}/page",
    response_class=HTMLResponse,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}, **refusals(404)},
)
def get_session_page(session_id: SessionId, context: ContextDep) -> Response:
    """A session as a page: where it stands, estimate and interval by number of answers, every look."""
    with context.engine.begin() as conn:
        state = usecase.read_session(conn, context.sessions, session_id, _idle(context))
    made = session_page.session_page(session_view(state).model_dump(), state.matrix.name)
    return HTMLResponse(made, headers={**templates_env.PAGE_HEADERS, "Cache-Control": "no-store"})


@router.post("/{session_id}/answers", response_model=SessionView, responses=refusals(404, 409, 413, 415))
def post_answers(
    session_id: SessionId,
    ask: Annotated[SessionAnswers, Body(examples=[ANSWERS])],
    context: ContextDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Send answers: scores by example id, several attempts, errors of the evaluated system, or null.

    Answers that were sent before, with the same values, change nothing, so that a request may
    be repeated. Several callers may work on one session: each gets batches of its own, the
    first by `another_batch`. When the question is decided, no further batch is handed out.
    """
    answers = {example: _given(value) for example, value in ask.answers.items()}

    def do(conn: Transaction) -> SessionState:
        return usecase.add_answers(
            conn, context.sessions, session_id, answers, _idle(context), another_batch=ask.another_batch
        )

    path = f"POST /sessions/{session_id}/answers"
    return run_once(context, idempotency_key, hash_of_body(path, ask), _stored(do))


@router.post("/{session_id}/stop", responses=refusals(404))
def stop_session(session_id: SessionId, context: ContextDep) -> SessionView:
    """End a session; what it knows stays, and answers are refused from then on."""
    with context.engine.begin() as conn:
        return session_view(usecase.stop_session(conn, context.sessions, session_id, _idle(context)))


@router.delete("/{session_id}", status_code=204, response_class=Response, responses=refusals(404))
def delete_session(session_id: SessionId, context: ContextDep) -> None:
    """Delete a session with its answers."""
    with context.engine.begin() as conn:
        sessions.delete(conn, session_id)


def _stored(do: Callable[[Transaction], SessionState]) -> Callable[[Transaction], StoredAnswer]:
    return lambda conn: stored_answer(200, session_view(do(conn)), {})


def _idle(context: AppContext) -> timedelta:
    return timedelta(days=context.settings.session_idle_days)


def _given(value: SessionAnswer) -> Given:
    return AnswerError() if isinstance(value, AnswerFailed) else value


def _request(ask: SessionCreate) -> SessionRequest:
    asked = ask.question
    return SessionRequest(
        matrix_id=ask.matrix_id,
        revision=ask.revision,
        baseline=asked.baseline,
        preset=asked.preset if asked.kind == "compare" else "regression",
        margin=asked.gate_margin if asked.kind == "compare" else 0.0,
        confidence=asked.confidence,
        precision=None if asked.kind == "compare" else asked.precision,
        run_variance=asked.run_variance,
        budget=ask.budget,
        batch=min(ask.batch, ask.budget or ask.batch),
        looks=ask.looks,
        mode=ask.mode,
        seed=ask.seed,
        errors=ask.errors,
        clusters=ask.clusters,
    )


def session_view(state: SessionState) -> SessionView:
    """A session as the API answers it."""
    record = state.record
    looks = [LookView.model_validate(found) for found in record.looks]
    return SessionView(
        **_summary(record),
        matrix=responses.matrix_ref(state.matrix),
        engine_version=record.engine_version,
        scored=state.scored,
        next_batch=list(state.next_batch),
        outstanding=list(state.outstanding),
        next_look=state.next_look,
        current=looks[-1] if looks else None,
        reason=_reason(state),
        looks=looks,
        warnings=_warnings(state),
    )


def _summary(record: SessionRecord) -> dict[str, Any]:
    asked = record.settings
    question = dict(asked["question"])
    if question["kind"] == "score":
        question |= {"preset": None, "margin": None}
    return {
        "id": record.id,
        "status": record.status,
        "matrix_id": record.matrix_id,
        "revision": record.revision,
        "question": QuestionView(**question),
        "budget": asked["budget"],
        "batch": asked["batch"],
        "looks_at": asked["looks"],
        "mode": asked["mode"],
        "errors": asked["errors"],
        "seed": asked["seed"],
        "handed_out": record.handed_out,
        "answered": record.answered,
        "verdict": record.looks[-1]["decision"] if record.looks else None,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }


def _reason(state: SessionState) -> str:
    record = state.record
    said = f"{record.answered:,} of at most {record.settings['budget']:,} examples are answered."
    if record.looks:
        last = dict(record.looks[-1])
        said = reason(Look(**last | {"interval": tuple(last["interval"])}), state.question)
    if record.status in ("stopped", "expired"):
        return f"The session was {record.status} undecided. {said}".replace("was expired", "expired")
    return said


def _warnings(state: SessionState) -> list[str]:
    answered, found = state.record.answered, []
    if answered and state.scored < COVERAGE * answered:
        found.append(
            f"{answered - state.scored:,} of {answered:,} answers have no score; they are taken as missing "
            "at random, so an example that fails because it is hard makes the estimate too high."
        )
    if state.record.settings["mode"] == "designed":
        found.append("The interval is a model's word: it holds for candidates like the source models.")
    return found
