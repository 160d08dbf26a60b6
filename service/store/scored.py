"""Matrices whose cells are scores of attempts, as a request asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from service.engine.data.matrix import Matrix
from service.engine.data.scored_matrix import Denominators, Scoring, scored_matrix
from service.store import matrices


@dataclass(frozen=True, slots=True)
class ScoredMatrix:
    """A matrix, and what its scores are scores of; None where they are as stored."""

    matrix: Matrix
    denominators: Denominators | None


def load(
    conn: Connection,
    matrix_id: str,
    revision: int | None,
    scoring: Scoring,
    models: Sequence[str] | None = None,
) -> ScoredMatrix:
    """The cells of a revision, or of some of its models.

    Raises
    ------
    NotFound
        No such matrix, revision or model.
    AttemptsError
        The attempts do not allow this score.
    """
    stored = matrices.load(conn, matrix_id, revision, models)
    if scoring.stored:
        return ScoredMatrix(stored, None)
    record = matrices.get(conn, matrix_id, revision)
    attempts = matrices.attempts(conn, record, models)
    return ScoredMatrix(*scored_matrix(stored, attempts, scoring))
