"""Scores from attempts as a request asks for them; what the attempts do not allow is refused by its field."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from service.core.errors import FieldError, InvalidRequest
from service.engine.data.attempts import AttemptsError, ModelAttempts, single_attempts
from service.engine.data.outline import Outline
from service.engine.data.scored_matrix import Denominators, Scoring, scored_matrix
from service.ingest import Upload
from service.store import matrices, scored
from service.store.records import MatrixRecord
from service.store.scored import ScoredMatrix


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Answer with a problem what the attempts do not allow."""
    try:
        yield
    except AttemptsError as error:
        field, message = f"/{error.field}", str(error)
        raise InvalidRequest(f"{field}: {message}", [FieldError(field, "attempts", message)]) from None


def load(
    conn: Connection, record: MatrixRecord, scoring: Scoring, models: Sequence[str] | None = None
) -> ScoredMatrix:
    """The cells of a revision, or of some of its models, scored so.

    Raises
    ------
    InvalidRequest
        The attempts do not allow this score.
    """
    with refusing():
        return scored.load(conn, record.id, record.revision, scoring, models)


def outline(conn: Connection, record: MatrixRecord, settings: Mapping[str, Any]) -> Outline:
    """The outline of a revision, with the scores that the settings of a job ask for."""
    stored = Outline(**matrices.outline(conn, record.id, record.revision))
    scoring = Scoring.of(settings)
    if scoring.stored:
        return stored
    matrix = load(conn, record, scoring).matrix
    found = Outline.of(matrix)
    return replace(
        stored,
        binary=found.binary,
        missing_cells=found.missing_cells,
        incomplete_models=found.incomplete_models,
        incomplete_examples=found.incomplete_examples,
        accuracies=tuple(None if mean != mean else float(mean) for mean in matrix.accuracies),
    )


def of_selection(body: Mapping[str, Any]) -> Scoring:
    """The scoring of the matrix a selection was chosen from."""
    return Scoring.of(body.get("scoring") or {})


def scored_upload(upload: Upload, scoring: Scoring) -> tuple[Upload, Denominators | None]:
    """The upload with scores from its attempts."""
    if scoring.stored:
        return upload, None
    with refusing():
        matrix, found = scored_matrix(upload.matrix, _attempts(upload), scoring)
    return replace(upload, matrix=matrix), found


def _attempts(upload: Upload) -> Sequence[ModelAttempts]:
    if upload.attempts is not None:
        return upload.attempts
    missing, states = upload.matrix.missing, upload.states
    return [
        single_attempts(row, None if missing is None else missing[i], None if states is None else states[i])
        for i, row in enumerate(upload.matrix.scores)
    ]
