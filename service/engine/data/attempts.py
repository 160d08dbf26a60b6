"""Several attempts of each model on each example, and the score of a cell from them.

A cell may have any number of attempts. Each ends in one of `OUTCOMES`; only some of them have a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.data.errors import EngineError
from service.engine.data.matrix import Scores

OUTCOMES = ("scored", "errored", "unscored", "not_run", "failed", "refused", "timed_out")
"""How an attempt can end. The model's own failures, failed and refused, score 0."""
SCORED, ERRORED, UNSCORED, NOT_RUN, FAILED, REFUSED, TIMED_OUT = range(len(OUTCOMES))
WITHOUT_SCORE = (ERRORED, UNSCORED, TIMED_OUT)
"""Outcomes of an attempt that was made and has no score, for a reason that need not be the model's."""
SHOWN = 5


class AttemptsError(EngineError):
    """The attempts do not allow the score asked for; the message says why and how to fix it.

    Attributes
    ----------
    field : str
        The field of the request to change: "score" or "errors".
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True, eq=False)
class ModelAttempts:
    """The attempts of one model, example by example.

    Attributes
    ----------
    counts : ndarray of uint16, shape (N,)
        Number of attempts at each example, in the matrix's order.
    values : ndarray of uint8 or float64, shape (counts.sum(),)
        Score of each attempt, those at one example together; 0 where the outcome has none.
    outcomes : ndarray of uint8, shape (counts.sum(),)
        Index into `OUTCOMES`.
    ordered : bool
        Whether the attempts at an example are in the order in which they were made.
    """

    counts: NDArray[np.uint16]
    values: Scores
    outcomes: NDArray[np.uint8]
    ordered: bool

    @property
    def examples(self) -> NDArray[np.intp]:
        """Index of each attempt's example, shape (counts.sum(),)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def number(self, outcomes: Sequence[int]) -> NDArray[np.int64]:
        """Attempts at each example that ended in one of these outcomes, shape (N,)."""
        which = np.isin(self.outcomes, outcomes)
        return np.bincount(self.examples[which], minlength=len(self.counts)).astype(np.int64)

    def take(self, examples: NDArray[np.integer]) -> ModelAttempts:
        """The attempts at these examples, in their order."""
        counts = self.counts[examples]
        starts = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])[examples]
        before = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])[:-1]
        at = np.arange(int(counts.sum())) + np.repeat(starts - before, counts)
        return ModelAttempts(counts, self.values[at], self.outcomes[at], self.ordered)

    def spread(self, here: NDArray[np.bool_]) -> ModelAttempts:
        """The same attempts over more examples: those where `here` is True, in order, are these."""
        counts = np.zeros(len(here), dtype=np.uint16)
        counts[here] = self.counts
        return ModelAttempts(counts, self.values, self.outcomes, self.ordered)

    def failed_where(self, examples: NDArray[np.bool_]) -> ModelAttempts:
        """The same attempts, all of those at these examples failed: whoever sent them says so."""
        outcomes = np.where(examples[self.examples], FAILED, self.outcomes).astype(np.uint8)
        return ModelAttempts(self.counts, self.values, outcomes, self.ordered)

    def joined(self, later: ModelAttempts) -> ModelAttempts:
        """These attempts followed by later ones at the same examples."""
        examples = np.concatenate([self.examples, later.examples])
        order = np.argsort(examples, kind="stable")
        return ModelAttempts(
            (self.counts + later.counts).astype(np.uint16),
            np.concatenate([self.values, later.values])[order],
            np.concatenate([self.outcomes, later.outcomes])[order],
            self.ordered and later.ordered,
        )


def single_attempts(
    scores: Scores, missing: NDArray[np.bool_] | None, states: NDArray[np.uint8] | None
) -> ModelAttempts:
    """One attempt at each example, from a row of a matrix.

    Parameters
    ----------
    scores : ndarray, shape (N,)
    missing : ndarray of bool, shape (N,), optional
    states : ndarray of uint8, shape (N,), optional
        Outcome of each cell; a missing cell without one is unscored, and one that is not missing although
        its outcome has no score counts as failed: whoever stored it said that it is wrong.
    """
    outcomes = np.zeros(len(scores), dtype=np.uint8) if states is None else states
    absent = np.zeros(len(scores), dtype=bool) if missing is None else missing
    outcomes = np.where(absent & (outcomes == SCORED), UNSCORED, outcomes)
    outcomes = np.where(~absent & (outcomes != SCORED), FAILED, outcomes).astype(np.uint8)
    made = outcomes != NOT_RUN
    return ModelAttempts(made.astype(np.uint16), scores[made], outcomes[made], ordered=True)
