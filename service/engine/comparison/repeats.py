"""Several runs of one model: the example is the unit, runs only shrink the noise.

Treating 30 examples × 10 runs as 300 results is the classic way to a too narrow
interval (Miller 2024, arXiv 2411.00640, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """One model's results over its runs.

    Attributes
    ----------
    mean : ndarray of float64, shape (n,)
        Over the runs an example has; NaN where it has none.
    noise : ndarray of float64, shape (n,), optional
        Variance of `mean` from the runs alone; None when no example has two.
    runs : ndarray of int, shape (n,)
        Of each example.
    summary : RepeatSummary
    """

    mean: NDArray[np.float64]
    noise: NDArray[np.float64] | None
    runs: NDArray[np.int64]
    summary: RepeatSummary

    @property
    def single(self) -> NDArray[np.float64] | None:
        """Variance of one answer from one run to the next, shape (n,); None when no example has two."""
        return None if self.noise is None else self.noise * np.maximum(self.runs, 1)


@dataclass(frozen=True, slots=True)
class RepeatSummary:
    """What the runs say.

    Attributes
    ----------
    runs : int
        Most runs of any example.
    always_right, always_wrong, mixed : int
        Examples with two runs or more: all 1, all 0, anything else. An aggregate
        can hide one that fails every time.
    run_scores : tuple of float
        Score of each run over the examples it has.
    run_deviation : float, optional
        Standard deviation of the full score from one run to the next.
    identical : bool
        Two runs or more, and not one answer differs: greedy decoding, or a cache.
    """

    runs: int
    always_right: int
    always_wrong: int
    mixed: int
    run_scores: tuple[float, ...]
    run_deviation: float | None
    identical: bool


def repeated(scores: NDArray[np.float64]) -> Repeated:
    """Reduce runs to one number an example, and keep what they say about noise.

    Parameters
    ----------
    scores : ndarray of float64, shape (n, k)
        NaN where an example was not run.
    """
    there = ~np.isnan(scores)
    runs, values = there.sum(axis=1), np.where(there, scores, 0.0)
    mean = np.divide(values.sum(axis=1), runs, out=np.full(len(scores), np.nan), where=runs > 0)
    twice = runs > 1
    noise = _noise(values, there, mean, runs) if twice.any() else None
    return Repeated(mean, noise, runs, _summary(scores, there, twice, mean, noise))


def _noise(
    values: NDArray[np.float64], there: NDArray[np.bool_], mean: NDArray[np.float64], runs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Variance of each example's mean; an example run once borrows the average of the others."""
    squares = (there * (values - np.nan_to_num(mean)[:, None]) ** 2).sum(axis=1)
    twice = runs > 1
    single = np.where(twice, squares / np.maximum(runs - 1, 1), 0.0)
    single = np.where(twice, single, single[twice].mean())
    return single / np.maximum(runs, 1)


def _summary(
    scores: NDArray[np.float64], there: NDArray[np.bool_], twice: NDArray[np.bool_],
    mean: NDArray[np.float64], noise: NDArray[np.float64] | None,
) -> RepeatSummary:  # fmt: skip
    right, wrong = int((mean[twice] == 1).sum()), int((mean[twice] == 0).sum())
    used = there.any(axis=0)
    totals = np.where(there, scores, 0.0).sum(axis=0)[used] / there.sum(axis=0)[used]
    counts = there.sum(axis=1)
    deviation = None if noise is None else float(np.sqrt((noise * counts)[counts > 0].sum())) / len(scores)
    return RepeatSummary(
        runs=int(counts.max(initial=0)),
        always_right=right,
        always_wrong=wrong,
        mixed=int(twice.sum()) - right - wrong,
        run_scores=tuple(totals.tolist()),
        run_deviation=deviation,
        identical=bool(twice.any()) and noise is not None and bool((noise[twice] == 0).all()),
    )
