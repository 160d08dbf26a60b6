"""A first look at a matrix: how hard each example is, and what looks wrong with the data."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.intervals import critical
from service.engine.matrix import Matrix

BLOCK_CELLS = 2_000_000
LEAST_MODELS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Subtask:
    """One subtask: its examples, and the mean, lowest and highest score of models on it."""

    name: str
    examples: int
    mean: float
    low: float
    high: float


def difficulty(matrix: Matrix) -> NDArray[np.float64]:
    """Mean score of the scored models on each example, shape (N,); NaN where none is scored."""
    total = matrix.scores.sum(axis=0, dtype=np.float64)
    if matrix.missing is None:
        return np.asarray(total / len(matrix.models))
    scored = (~matrix.missing).sum(axis=0)
    return np.asarray(np.divide(total, scored, out=np.full(len(total), np.nan), where=scored > 0))


def item_rest(matrix: Matrix) -> NDArray[np.float64]:
    """Correlation of each example's scores with the models' mean scores on all others.

    Returns
    -------
    ndarray, shape (N,)
        Pearson's r over the models scored on it and on another; NaN where either side is constant.
    """
    total = matrix.scores.sum(axis=1, dtype=np.float64)
    there = np.ones(matrix.scores.shape, dtype=bool) if matrix.missing is None else ~matrix.missing
    others = there.sum(axis=1) - 1
    step = max(1, BLOCK_CELLS // len(total))
    answer = np.empty(len(matrix.examples))
    for at in range(0, len(answer), step):
        block = slice(at, at + step)
        score = matrix.scores[:, block].astype(np.float64)
        rest = (total[:, None] - score) / np.maximum(others, 1)[:, None]
        weight = (there[:, block] & (others > 0)[:, None]).astype(np.float64)
        answer[block] = _correlation(score, rest, weight)
    return answer


def doubtful(correlations: NDArray[np.float64], models: int, confidence: float = 0.95) -> NDArray[np.intp]:
    """Examples that better models get wrong more often: likely mislabelled, the worst first.

    Those whose item–rest correlation is below 0 with its whole interval (Fisher's z).

    Parameters
    ----------
    correlations : ndarray, shape (N,)
        From `item_rest`; NaN are never doubtful.
    models : int
        Number of models behind each; fewer than ten tell nothing.
    """
    if models < LEAST_MODELS:
        return np.empty(0, dtype=np.intp)
    limit = -np.tanh(critical(confidence) / np.sqrt(models - 3))
    order = np.argsort(correlations, kind="stable")
    return np.asarray(order[correlations[order] < limit])


def identical_models(matrix: Matrix) -> list[tuple[str, ...]]:
    """Groups of models with the same score, or gap, on every example; the largest first."""
    groups: dict[bytes, list[str]] = defaultdict(list)
    for at, model in enumerate(matrix.models):
        gaps = b"" if matrix.missing is None else np.packbits(matrix.missing[at]).tobytes()
        groups[matrix.scores[at].tobytes() + gaps].append(model)
    found = [tuple(group) for group in groups.values() if len(group) > 1]
    return sorted(found, key=lambda group: (-len(group), group))


def subtasks(matrix: Matrix) -> list[Subtask]:
    """Each subtask of the matrix; models without a score on it are left out of its numbers."""
    answer = []
    for at, name in enumerate(matrix.subtasks):
        part = matrix.take(examples=np.flatnonzero(matrix.strata == at))
        scores = part.accuracies[~np.isnan(part.accuracies)]
        if len(scores):
            numbers = (float(scores.mean()), float(scores.min()), float(scores.max()))
            answer.append(Subtask(name, len(part.examples), *numbers))
    return answer


def _correlation(
    left: NDArray[np.float64], right: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted Pearson correlation of columns; NaN where a column has no spread."""
    total = np.maximum(weight.sum(axis=0), 1)
    left = (left - (weight * left).sum(axis=0) / total) * weight
    right = (right - (weight * right).sum(axis=0) / total) * weight
    spread = np.sqrt((left**2).sum(axis=0) * (right**2).sum(axis=0))
    product = (left * right).sum(axis=0)
    return np.asarray(np.divide(product, spread, out=np.full(len(product), np.nan), where=spread > 1e-12))
