"""The user's own pairs of models: how many are too close for a difference to be detected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.data.matrix import Matrix
from service.engine.data.pairs import discordant


@dataclass(frozen=True, slots=True)
class ListedPair:
    """Two models, the better first.

    Attributes
    ----------
    difference : float
        Of their full scores, a fraction.
    disagreement : float
        Share of examples on which the two differ; mean absolute difference of graded scores.
    """

    models: tuple[str, str]
    difference: float
    disagreement: float


@dataclass(frozen=True, slots=True)
class ClosePairs:
    """How many pairs there are, how many are too close, and some of these."""

    total: int
    too_close: int
    examples: tuple[ListedPair, ...]


def close_pairs(matrix: Matrix, rows: NDArray[np.integer], threshold: float, *, most: int) -> ClosePairs:
    """Pairs of these models that differ by less than a threshold on the full benchmark.

    Parameters
    ----------
    rows : ndarray of int, shape (M,)
    threshold : float
        Fraction, such as an MDAD; +inf takes every pair.
    most : int
        Most pairs listed: neighbours in rank first, the best models first.
    """
    sums = matrix.scores[rows].sum(axis=1).astype(np.float64)
    order = np.argsort(-sums, kind="stable")
    n_examples = len(matrix.examples)
    reach = threshold * n_examples - 1e-9
    falling = sums[order]
    ends = np.searchsorted(-falling, -falling + reach)
    counts = np.maximum(ends - np.arange(len(rows)) - 1, 0)
    total = len(rows) * (len(rows) - 1) // 2
    listed = _neighbours_first(order, counts, most)
    apart = _disagreements(matrix, rows, listed)
    examples = tuple(
        ListedPair(
            (matrix.models[rows[i]], matrix.models[rows[j]]), float(sums[i] - sums[j]) / n_examples, rate
        )
        for (i, j), rate in zip(listed, apart, strict=True)
    )
    return ClosePairs(total, int(counts.sum()), examples)


def _neighbours_first(
    order: NDArray[np.intp], counts: NDArray[np.intp], most: int
) -> list[tuple[np.intp, np.intp]]:
    listed: list[tuple[np.intp, np.intp]] = []
    for apart in range(1, int(counts.max(initial=0)) + 1):
        ranks = np.flatnonzero(counts >= apart)[: most - len(listed)]
        listed += zip(order[ranks], order[ranks + apart], strict=True)
        if len(listed) >= most:
            break
    return listed


def _disagreements(
    matrix: Matrix, rows: NDArray[np.integer], listed: list[tuple[np.intp, np.intp]]
) -> list[float]:
    if not listed:
        return []
    first, second = rows[np.array(listed).T]
    if matrix.scores.dtype == np.uint8:
        involved, where = np.unique(np.concatenate((first, second)), return_inverse=True)
        half = len(first)
        better, worse = discordant(matrix.scores[involved], where[:half], where[half:])
        rates: list[float] = ((better + worse) / len(matrix.examples)).tolist()
        return rates
    return [
        float(np.abs(matrix.scores[i] - matrix.scores[j]).mean()) for i, j in zip(first, second, strict=True)
    ]
