"""Further attempts of a model that a matrix has: its cells are the means of the earlier and the new ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from service.core.errors import FieldError, InvalidRequest
from service.engine.data.attempt_scores import ScoreRule, score_attempts
from service.engine.data.attempts import (
    ERRORED,
    NOT_RUN,
    SCORED,
    TIMED_OUT,
    UNSCORED,
    ModelAttempts,
    single_attempts,
)
from service.engine.data.matrix import Matrix
from service.ingest import Upload
from service.store import matrices
from service.store.records import AnswerCounts, MatrixRecord

MOST = int(np.iinfo(np.uint16).max)


def append(conn: Connection, matrix: MatrixRecord, upload: Upload) -> tuple[Upload, AnswerCounts] | None:
    """The model's earlier attempts and those in the upload; None where the matrix has no such model.

    Call it while the matrix is locked, so that no other attempts are lost.

    Raises
    ------
    InvalidRequest
        A cell would have more attempts than can be kept.
    """
    (model,) = upload.matrix.models
    if not matrices.known_models(conn, matrix, [model]):
        return None
    (earlier,) = matrices.attempts(conn, matrix, [model])
    later = _attempts(upload)
    if (earlier.counts.astype(np.int64) + later.counts).max(initial=0) > MOST:
        message = f"A cell would have more than {MOST:,} attempts; send attempts=replace with a new file."
        raise InvalidRequest(message, [FieldError("query/attempts", "too_many", message)])
    every = earlier.joined(later)
    scored = score_attempts([model], [every], ScoreRule("mean"), "missing")
    states = _states(every, scored.counted[0])
    sure = _confidences(conn, matrix, upload, earlier, later)
    row = Matrix.build(
        [model], upload.matrix.examples, scored.scores, missing=states[None] != SCORED, confidences=sure
    )
    number = [int((states == state).sum()) for state in range(4)]
    account = AnswerCounts(
        errored=number[ERRORED],
        unscored=number[UNSCORED],
        not_run=number[NOT_RUN],
        answers=int(scored.counted.sum(dtype=np.int64)),
        states=states if states.any() else None,
        repeats=scored.counted[0],
        attempts=every,
    )
    return replace(upload, matrix=row, attempts=(every,)), account


def _attempts(upload: Upload) -> ModelAttempts:
    if upload.attempts is not None:
        return upload.attempts[0]
    absent = upload.matrix.missing
    return single_attempts(
        upload.matrix.scores[0],
        None if absent is None else absent[0],
        None if upload.states is None else upload.states[0],
    )


def _states(every: ModelAttempts, counted: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """The best outcome of each cell's attempts."""
    states = np.full(len(counted), NOT_RUN, dtype=np.uint8)
    states[every.number((UNSCORED,)) > 0] = UNSCORED
    states[every.number((ERRORED, TIMED_OUT)) > 0] = ERRORED
    states[counted > 0] = SCORED
    return states


def _confidences(
    conn: Connection, matrix: MatrixRecord, upload: Upload, earlier: ModelAttempts, later: ModelAttempts
) -> NDArray[np.float64] | None:
    """The mean over all attempts, where both have them."""
    before = matrices.load(conn, matrix.id, matrix.revision, models=upload.matrix.models).confidences
    after = upload.matrix.confidences
    if before is None or after is None:
        return None
    total = earlier.counts.astype(np.float64) * before + later.counts * after
    return np.asarray(total / np.maximum(earlier.counts + later.counts, 1), dtype=np.float64)
