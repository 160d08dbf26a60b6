"""Sessions: answers a batch at a time, until the question is decided."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Unpack

from tastetest_client import models
from tastetest_client._async.resource import AsyncResource
from tastetest_client._ids import MatrixLike, SessionLike, matrix_id, session_id
from tastetest_client._protocol import Call, idempotent, path
from tastetest_client.options import SessionOptions


class AsyncSessions(AsyncResource):
    """Create sessions, answer their examples, and read what is decided.

    A session is done when its `status` is no longer `open`; until then `outstanding` holds the examples to
    run:

        session = client.sessions.create(matrix, {"kind": "compare", "baseline": "main"}, budget=200)
        while session.status == "open":
            session = client.sessions.answer(session, {q: evaluate(q) for q in session.outstanding})
    """

    async def create(
        self,
        matrix: MatrixLike,
        question: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        **options: Unpack[SessionOptions],
    ) -> models.SessionView:
        """Start a session.

        Parameters
        ----------
        question : mapping
            `{"kind": "compare", "baseline": …, "preset": …, "margin": …}` or
            `{"kind": "score", "precision": …}`.
        **options
            As `POST /sessions` takes them: `budget=200`, `batch=25`, `looks="any"`, …
        """
        body = {"matrix_id": matrix_id(matrix), "question": dict(question), **options}
        call = Call("POST", "/sessions", json=body, headers=idempotent(idempotency_key))
        return await self._read(models.SessionView, call)

    async def answer(
        self, session: SessionLike, answers: Mapping[str, Any], *, another_batch: bool = False
    ) -> models.SessionView:
        """Send answers by example id.

        Parameters
        ----------
        answers : mapping
            A score from 0 to 1, a list of scores, `{"error": "…"}`, or None where there is no score.
        another_batch : bool
            Hand out one more batch, for another caller at the same time.
        """
        body = {"answers": dict(answers), "another_batch": another_batch}
        to = path("sessions", session_id(session), "answers")
        return await self._read(models.SessionView, Call("POST", to, json=body, headers=idempotent(None)))

    async def get(self, session: SessionLike) -> models.SessionView:
        """A session as it is now."""
        return await self._read(models.SessionView, Call("GET", path("sessions", session_id(session))))

    def list(
        self, *, matrix: MatrixLike | None = None, limit: int = 100
    ) -> AsyncIterator[models.SessionSummary]:
        """All sessions, newest first."""
        of = None if matrix is None else matrix_id(matrix)
        return self._pages(models.SessionSummary, "/sessions", {"matrix_id": of, "limit": limit})

    async def page(self, session: SessionLike) -> str:
        """The session as an HTML page."""
        return (await self._transport.send(Call("GET", path("sessions", session_id(session), "page")))).text

    async def stop(self, session: SessionLike) -> models.SessionView:
        """End a session before it is decided."""
        return await self._read(
            models.SessionView, Call("POST", path("sessions", session_id(session), "stop"))
        )

    async def delete(self, session: SessionLike) -> None:
        """Delete a session with its answers."""
        await self._transport.send(Call("DELETE", path("sessions", session_id(session))))
