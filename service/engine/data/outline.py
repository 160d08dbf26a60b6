"""The outline of a matrix, without its scores, against which requests are checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from service.engine.data.matrix import Matrix


@dataclass(frozen=True, slots=True)
class Outline:
    """Names and counts of a matrix.

    Attributes
    ----------
    models : tuple of str
        Sorted ids.
    n_examples : int
    subtask_sizes : tuple of int
        Examples in each subtask; (n_examples,) without subtasks.
    subtasks : tuple of str
        Sorted names; empty without subtasks.
    binary : bool
        Every score is 0 or 1.
    missing_cells : int
    confidences, embeddings : bool
        Whether the matrix has them.
    incomplete_models : tuple of str
        Models with a missing cell, when known.
    incomplete_examples : int
        Examples with a missing cell, when known.
    examples : tuple of str
        Ids, if the request names any.
    accuracies : tuple of float or None
        Mean score of each model, when known.
    arrived : tuple of int
        Revision in which each model joined, when known.
    released : tuple of int or None
        Day of each model's release, as far as known.
    families : tuple of str or None
        Family of each model, as far as known.
    """

    models: tuple[str, ...]
    n_examples: int
    subtask_sizes: tuple[int, ...]
    subtasks: tuple[str, ...]
    binary: bool
    missing_cells: int
    confidences: bool
    embeddings: bool
    incomplete_models: tuple[str, ...] = ()
    incomplete_examples: int = 0
    examples: tuple[str, ...] = ()
    accuracies: tuple[float | None, ...] = ()
    arrived: tuple[int, ...] = ()
    released: tuple[int | None, ...] = ()
    families: tuple[str | None, ...] = ()

    @classmethod
    def of(cls, matrix: Matrix) -> Outline:
        """The outline of a matrix."""
        missing = matrix.missing
        incomplete = () if missing is None else np.flatnonzero(missing.any(axis=1)).tolist()
        return cls(
            models=matrix.models,
            n_examples=len(matrix.examples),
            subtask_sizes=tuple(int(n) for n in np.bincount(matrix.strata)),
            subtasks=matrix.subtasks,
            binary=matrix.binary,
            missing_cells=matrix.missing_cells,
            confidences=matrix.confidences is not None,
            embeddings=matrix.embeddings is not None,
            incomplete_models=tuple(matrix.models[i] for i in incomplete),
            incomplete_examples=0 if missing is None else int(missing.any(axis=0).sum()),
            examples=matrix.examples,
        )

    def after(self, policy: str) -> Outline:
        """The outline after filling or dropping missing cells (`Matrix.fill`)."""
        full = replace(self, missing_cells=0, incomplete_models=(), incomplete_examples=0)
        if policy == "drop_models":
            dropped = set(self.incomplete_models)
            kept = [model not in dropped for model in self.models]
            return replace(
                full,
                models=tuple(compress(self.models, kept)),
                accuracies=tuple(compress(self.accuracies, kept)),
                arrived=tuple(compress(self.arrived, kept)),
                released=tuple(compress(self.released, kept)),
                families=tuple(compress(self.families, kept)),
            )
        if policy == "drop_examples":
            return replace(full, n_examples=self.n_examples - self.incomplete_examples)
        return full
