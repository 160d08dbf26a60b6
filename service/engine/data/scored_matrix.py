"""A matrix whose cells are scores of attempts, and what these are scores of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.data.attempt_scores import (
    AttemptScores,
    ErrorPolicy,
    ScoreRule,
    errors_by_model,
    score_attempts,
)
from service.engine.data.attempts import AttemptsError, ModelAttempts
from service.engine.data.matrix import Matrix

POLICIES: tuple[ErrorPolicy, ...] = ("zero", "missing", "refuse")


@dataclass(frozen=True, slots=True)
class Scoring:
    """How scores follow from attempts.

    Attributes
    ----------
    score : str
        As `ScoreRule.parse` takes it.
    errors : "zero", "missing", "refuse" or None
        What an attempt without a score counts as; None refuses, except that means are as stored.
    """

    score: str = "mean"
    errors: ErrorPolicy | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Scoring:
        """The scoring in the settings of a job or of a selection, checked when they were made."""
        return cls(settings.get("score") or "mean", settings.get("errors"))

    @property
    def stored(self) -> bool:
        """Whether the scores are those that the matrix has."""
        return self.score == "mean" and self.errors is None

    @property
    def policy(self) -> ErrorPolicy:
        """What errors count as."""
        return self.errors or "refuse"

    def settings(self) -> dict[str, str]:
        """Those that are not the default."""
        given = {"score": self.score if self.score != "mean" else None, "errors": self.errors}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Denominators:
    """What the scores of a result are scores of.

    Attributes
    ----------
    cells : int
        Cells with a score.
    least, median, most : number
        Attempts that count in such a cell.
    errors_total : int
        Attempts that were made and have no score.
    errors_by_model : dict of str to int
        Of the models that have any.
    statement : str
        The same as a sentence.
    """

    score: str
    errors: ErrorPolicy
    cells: int
    attempts: int
    least: int
    median: float
    most: int
    errors_total: int
    errors_by_model: dict[str, int]
    statement: str

    def as_json(self) -> dict[str, Any]:
        """As a result has it."""
        return asdict(self)


STORED = Scoring()
"""The scores that the matrix has."""


def scored_matrix(
    matrix: Matrix, attempts: Sequence[ModelAttempts], scoring: Scoring
) -> tuple[Matrix, Denominators]:
    """The matrix with scores from attempts.

    Parameters
    ----------
    matrix : Matrix
        As stored: models, examples and all else stay.
    attempts : sequence of ModelAttempts
        One a model, in the matrix's order.

    Raises
    ------
    AttemptsError
        The attempts do not allow this score.
    """
    found = score_attempts(matrix.models, attempts, ScoreRule.parse(scoring.score), scoring.policy)
    built = Matrix.build(
        matrix.models,
        matrix.examples,
        found.scores,
        subtasks=[matrix.subtasks[code] for code in matrix.strata] if matrix.subtasks else None,
        confidences=matrix.confidences,
        embeddings=matrix.embeddings,
    )
    return built, denominators(matrix.models, found, scoring)


def scored_runs(runs: NDArray[np.float64], scoring: Scoring, model: str) -> NDArray[np.float64]:
    """Scores of answers sent as repeated runs: each run that has a score is an attempt.

    Parameters
    ----------
    runs : ndarray of float64, shape (n, k)
        NaN where an example was not run.

    Returns
    -------
    ndarray of float64, shape (n,)
        NaN where it has no run.
    """
    there = ~np.isnan(runs)
    counts = there.sum(axis=1).astype(np.uint16)
    values = runs[there]
    attempts = ModelAttempts(counts, values, np.zeros(len(values), dtype=np.uint8), ordered=True)
    found = score_attempts([model], [attempts], ScoreRule.parse(scoring.score), scoring.policy)
    return np.asarray(found.scores[0])


def denominators(models: Sequence[str], found: AttemptScores, scoring: Scoring) -> Denominators:
    """What these scores are scores of."""
    counted = found.counted[found.counted > 0]
    if not counted.size:
        raise AttemptsError("errors", "no cell has an attempt that counts; send errors=zero.")
    least, median, most = int(counted.min()), float(np.median(counted)), int(counted.max())
    by = {model: int(n) for model, n in zip(models, found.errors, strict=True) if n}
    each = f"{least}" if least == most else f"{least} to {most} (median {median:g})"
    statement = f"{scoring.score} of {each} attempts in each of {counted.size} cells"
    if by:
        counts_as = "count as 0" if scoring.policy == "zero" else "are not counted"
        statement += f"; {errors_by_model(by)}; they {counts_as}"
    return Denominators(
        score=scoring.score,
        errors=scoring.policy,
        cells=int(counted.size),
        attempts=int(counted.sum(dtype=np.int64)),
        least=least,
        median=median,
        most=most,
        errors_total=sum(by.values()),
        errors_by_model=by,
        statement=statement + ".",
    )
