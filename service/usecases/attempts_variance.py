"""How much examples and attempts vary: as a request says, or as the attempts of a matrix show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from service.core.errors import FieldError, InvalidRequest
from service.engine.comparison.attempts_budget import AttemptVariance, attempt_variance
from service.engine.data.scored_matrix import Scoring
from service.store import matrices
from service.store.records import MatrixRecord
from service.usecases import scoring


@dataclass(frozen=True, slots=True)
class AttemptsBudget:
    """Runs of each model to spend, and variances where they are given."""

    runs: int
    between_variance: float | None = None
    within_variance: float | None = None


def given(budget: AttemptsBudget) -> AttemptVariance:
    """The variances of the request.

    Raises
    ------
    InvalidRequest
        It lacks one.
    """
    if budget.between_variance is None or budget.within_variance is None:
        message = "Without a matrix, give both between_variance and within_variance."
        raise InvalidRequest(f"/budget: {message}", [FieldError("/budget", "variance_unknown", message)])
    return AttemptVariance(budget.between_variance, budget.within_variance)


def of_matrix(
    conn: Connection,
    record: MatrixRecord,
    budget: AttemptsBudget,
    asked: Scoring,
    models: Sequence[str] | None = None,
) -> AttemptVariance:
    """The variances of the request; what it lacks is of the median pair of the matrix's models, or of these.

    Raises
    ------
    InvalidRequest
        The matrix has no repeated attempts, and the request does not say how much they vary.
    """
    if budget.between_variance is not None and budget.within_variance is not None:
        return given(budget)
    with scoring.refusing():
        attempts = matrices.attempts(conn, record, models)
        found = attempt_variance(attempts, asked.errors or "missing", budget.within_variance)
    return found if budget.between_variance is None else replace(found, between=budget.between_variance)
