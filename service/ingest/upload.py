"""The result of reading an upload, and the grid from which it is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from service.engine.data.attempts import (
    ERRORED,
    FAILED,
    NOT_RUN,
    OUTCOMES,
    REFUSED,
    SCORED,
    TIMED_OUT,
    UNSCORED,
    ModelAttempts,
)
from service.engine.data.matrix import Matrix

__all__ = [
    "CELL_STATES", "ERRORED", "FAILED", "NOT_RUN", "OUTCOMES", "REFUSED", "SCORED", "STATES", "TIMED_OUT",
    "UNSCORED", "AttemptNumbers", "Grid", "ModelReport", "ToolIdentifiers", "Upload",
]  # fmt: skip
STATES = OUTCOMES[:4]
"""Names of the cell states: has a score; failed in the run; ran without a score; not in the log."""
CELL_STATES = np.array([SCORED, ERRORED, UNSCORED, NOT_RUN, SCORED, SCORED, ERRORED], dtype=np.uint8)
"""The state of a cell whose only attempt ended so: index of `OUTCOMES` → index of `STATES`."""


@dataclass(frozen=True, slots=True)
class ModelReport:
    """One model of an upload, and the mean that its own log reports.

    Attributes
    ----------
    scored, errored, unscored, not_run : int
        Number of examples in each state.
    answers : int
        Number of answers that the scores are means of.
    mean : float or None
        Mean score over the scored examples, or over all where the missing ones count as wrong.
    bounds : tuple of float
        The mean over all examples if every missing answer were wrong, and if every one were right.
    reported : float or None
        The mean that the log reports; None if it reports none.
    """

    model: str
    scored: int
    errored: int
    unscored: int
    not_run: int
    mean: float | None
    bounds: tuple[float, float]
    reported: float | None = None
    answers: int = 0

    @property
    def missing(self) -> int:
        """Number of examples without a score, for any reason."""
        return self.errored + self.unscored + self.not_run


@dataclass(frozen=True, slots=True)
class ToolIdentifiers:
    """The names by which the tool that ran the examples identifies them, so that it can run some again.

    Attributes
    ----------
    tool : str
        Name of the format, as in `format=`.
    tasks, ids : tuple of str, length N
        The tool's task and its own id of each example, in the matrix's order.
    """

    tool: str
    tasks: tuple[str, ...]
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttemptNumbers:
    """How many attempts the cells of an upload have, of those that were attempted at all."""

    min: int
    median: float
    max: int


@dataclass(frozen=True, slots=True, eq=False)
class Upload:
    """A matrix, and what was found while reading it.

    Attributes
    ----------
    name : str or None
        Name of the matrix in the file.
    states : ndarray of uint8, shape (M, N), optional
        Index into `STATES` of each cell; None when every cell is scored.
    repeats : ndarray of uint16, shape (M, N), optional
        Number of answers averaged into each cell; None when it is 1 for each.
    native : ToolIdentifiers, optional
    hashes : tuple of str or None, length N, optional
        Content hash of each example, None where the log has none.
    attempts : tuple of ModelAttempts, length M, optional
        Every attempt; None where no cell has two, or the log has only their means.
    """

    matrix: Matrix
    format: str
    name: str | None
    warnings: tuple[str, ...]
    models: tuple[ModelReport, ...]
    states: NDArray[np.uint8] | None = None
    repeats: NDArray[np.uint16] | None = None
    native: ToolIdentifiers | None = None
    hashes: tuple[str | None, ...] | None = None
    attempts: tuple[ModelAttempts, ...] | None = None

    @property
    def attempt_numbers(self) -> AttemptNumbers | None:
        """How many attempts a cell has; None without attempts."""
        if self.attempts is None:
            return None
        counts = np.concatenate([mine.counts for mine in self.attempts])
        made = counts[counts > 0]
        if not made.size:
            return None
        return AttemptNumbers(int(made.min()), float(np.median(made)), int(made.max()))


@dataclass(slots=True, eq=False)
class Grid:
    """Models × examples in the order of the upload, with checked cells, not yet in canonical order.

    Attributes
    ----------
    values : ndarray of uint8 or float64, shape (M, N)
        Scores in [0, 1]; undefined where the cell is not scored.
    states : ndarray of uint8, shape (M, N), optional
        Index into `STATES`; None when every cell is scored.
    reported : dict of str to float
        Model → the mean that its log reports.
    """

    models: Sequence[str]
    examples: Sequence[str]
    values: NDArray[np.uint8] | NDArray[np.float64]
    states: NDArray[np.uint8] | None = None
    repeats: NDArray[np.uint16] | None = None
    subtasks: Sequence[str] | None = None
    confidences: NDArray[np.float32] | None = None
    embeddings: NDArray[np.float32] | None = None
    hashes: Sequence[str | None] | None = None
    native: ToolIdentifiers | None = None
    attempts: list[ModelAttempts] | None = None
    name: str | None = None
    reported: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
