"""A summary of a matrix: the difficulty of each example, its subtasks, and identical models."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.data.matrix import Matrix

_START = 256


@dataclass(frozen=True, slots=True, eq=False)
class Subtask:
    """One subtask: its examples, and the mean, lowest and highest score of models on it."""

    name: str
    examples: int
    mean: float
    low: float
    high: float


def difficulty(matrix: Matrix) -> NDArray[np.float64]:
    """Mean score of the models with a score on each example, shape (N,); NaN where there is none."""
    total = matrix.scores.sum(axis=0, dtype=np.float64)
    if matrix.missing is None:
        return np.asarray(total / len(matrix.models))
    scored = (~matrix.missing).sum(axis=0)
    return np.asarray(np.divide(total, scored, out=np.full(len(total), np.nan), where=scored > 0))


def identical_models(matrix: Matrix) -> list[tuple[str, ...]]:
    """Groups of models with the same score, or missing score, on every example; the largest first."""
    starts: dict[bytes, list[int]] = defaultdict(list)
    groups: dict[bytes, list[str]] = defaultdict(list)
    for at, row in enumerate(matrix.scores[:, :_START]):
        starts[row.tobytes()].append(at)
    # Few models agree even on the first examples; only those are compared in full.
    for at in (at for rows in starts.values() if len(rows) > 1 for at in rows):
        gaps = b"" if matrix.missing is None else np.packbits(matrix.missing[at]).tobytes()
        groups[matrix.scores[at].tobytes() + gaps].append(matrix.models[at])
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
