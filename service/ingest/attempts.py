"""The attempts in the answers of a log, example by example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.data.attempts import NOT_RUN, SCORED, ModelAttempts
from service.engine.data.matrix import Scores
from service.ingest.context import Context
from service.ingest.records import Floats

_ROUNDING = 1e-6
"""Logs round means to 10 digits, and a mean of 1,100 attempts is then off by 1e-7 passes."""


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """All answers of one model, in the order of the log.

    Attributes
    ----------
    columns : ndarray of int32, shape (n,)
        The example of each.
    repeats : ndarray of float64, shape (n,)
        Which attempt each is.
    values : ndarray of uint8 or float64, shape (n,)
    outcomes : ndarray of uint8, shape (n,)
    counts : ndarray of float64, shape (n,)
        Number of attempts that each value is the mean of.
    ordered : bool
        Whether `repeats` says which attempt came first.
    """

    columns: NDArray[np.int32]
    repeats: Floats
    values: Scores
    outcomes: NDArray[np.uint8]
    counts: Floats
    ordered: bool


def too_many(total: float, context: Context) -> bool:
    """Whether an upload has more attempts than are kept; then it warns."""
    if total <= context.limits.cells:
        return False
    context.warn(
        f"the upload has more than {context.limits.cells:,} attempts, so only their means are kept; scores "
        "like pass@k need single attempts"
    )
    return True


def of_models(found: Sequence[ModelAttempts | None]) -> list[ModelAttempts] | None:
    """The attempts of all models; None when no cell has two, or of some model only means are known."""
    known = [mine for mine in found if mine is not None]
    if len(known) < len(found) or not any(mine.counts.max(initial=0) > 1 for mine in known):
        return None
    return known


def by_attempt(columns: NDArray[np.int32], repeats: Floats) -> NDArray[np.intp]:
    """The order by example and, within an example, by attempt; equal ones stay in the order of the log."""
    if not len(columns):
        return np.zeros(0, dtype=np.intp)
    low = repeats.min()
    keys = columns * (repeats.max() - low + 1) + (repeats - low)
    # Most logs are in this order already, and looking is much faster than sorting.
    if (keys[1:] >= keys[:-1]).all():
        return np.arange(len(keys))
    return np.argsort(keys, kind="stable")


def of_row(row: Answered, n_examples: int) -> ModelAttempts | None:
    """The attempts of one model; None when the log has only means of graded ones."""
    # Without an order, sort by what the attempts are, so that the order of files does not matter.
    if row.ordered:
        order = by_attempt(row.columns, row.repeats)
    else:
        order = np.lexsort((row.values, row.outcomes, row.columns))
    order = order[row.outcomes[order] != NOT_RUN]
    columns, values, outcomes = row.columns[order], row.values[order], row.outcomes[order]
    ordered = row.ordered
    if (row.counts[order] > 1).any():
        split = _split(values, row.counts[order], outcomes)
        if split is None:
            return None
        each, values = split
        columns, outcomes, ordered = np.repeat(columns, each), np.repeat(outcomes, each), False
    counts = np.bincount(columns, minlength=n_examples)
    if counts.max(initial=0) > np.iinfo(np.uint16).max:
        return None
    values = values.astype(np.uint8) if np.isin(values, (0, 1)).all() else values
    return ModelAttempts(counts.astype(np.uint16), values, outcomes, ordered)


def _split(
    means: Scores, counts: Floats, outcomes: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
    """Attempts that pass or fail, from their mean and number; None if they were graded."""
    each = np.where(outcomes == SCORED, counts, 1).astype(np.int64)
    passed = means * each
    right = np.rint(passed).astype(np.int64)
    if (np.abs(passed - right) > _ROUNDING * np.maximum(each, 1)).any():
        return None
    starts = np.concatenate([[0], np.cumsum(each)])[:-1]
    place = np.arange(int(each.sum())) - np.repeat(starts, each)
    return each, (place < np.repeat(right, each)).astype(np.uint8)
