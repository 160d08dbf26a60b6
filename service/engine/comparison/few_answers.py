"""Intervals of a sampled score where answers of one kind are few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.intervals import Interval, finite_size, wilson_share

# Right, or wrong, answers below which a normal approximation of their share is not relied on.
FEW = 5


def with_few(
    interval: Interval,
    answers: NDArray[np.float64],
    sampled: NDArray[np.bool_],
    total: int,
    confidence: float,
) -> Interval:
    """The interval of a model-assisted score, with Wilson's included where Student's t does not hold.

    With hardly any wrong answers, or hardly any right ones, the spread of the few errors says
    little of the examples not drawn: it is 0 where no error was drawn.

    Parameters
    ----------
    interval : (float, float)
        By Student's t.
    answers : ndarray of float64, shape (n,)
        On the examples of the subset, NaN where missing.
    sampled : ndarray of bool, shape (n,)
        Examples that were drawn at random; the others were chosen for certain.
    total : int
        Examples of the full benchmark.
    confidence : float

    Returns
    -------
    low, high : float
        `interval` itself for graded scores, and where there are `FEW` or more of each kind.
    """
    there = ~np.isnan(answers)
    drawn, certain = answers[there & sampled], answers[there & ~sampled]
    if not len(drawn) or not np.isin(drawn, (0, 1)).all() or min(drawn.sum(), (1 - drawn).sum()) >= FEW:
        return interval
    rest = total - len(certain)
    ends = wilson_share(drawn.mean(), finite_size(len(drawn), rest), confidence)
    low, high = ((certain.sum() + rest * float(end)) / total for end in ends)
    return min(interval[0], low), max(interval[1], high)
