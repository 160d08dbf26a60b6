"""The correctness matrix: models × examples, in canonical order.

Models and examples are always sorted by id, so no result depends on the order of an upload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Kind = TypeVar("Kind", bound=np.generic)
Scores = NDArray[np.uint8] | NDArray[np.float64]
MissingPolicy = Literal["drop_examples", "drop_models", "zero"]


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Scores of M models on N examples.

    Create one with `build`; the constructor does not check its arguments.

    Attributes
    ----------
    models, examples : tuple of str
        Ids, each sorted and distinct; lengths M and N.
    scores : ndarray, shape (M, N)
        uint8 when every score is 0 or 1 (`binary`), else float64 in [0, 1].
        Cells that are missing hold 0.
    missing : ndarray of bool, shape (M, N), optional
        True where a model has no score; None when the matrix is complete.
    subtasks : tuple of str
        Sorted subtask names, length K; empty when the benchmark has none.
    strata : ndarray of int32, shape (N,)
        Index into `subtasks` of each example; all 0 when there are none.
    confidences : ndarray of float32, shape (M, N), optional
        Probability each model gave to the right answer, in [0, 1].
    embeddings : ndarray of float32, shape (N, D), optional
        One vector per example.
    """

    models: tuple[str, ...]
    examples: tuple[str, ...]
    scores: Scores
    missing: NDArray[np.bool_] | None
    subtasks: tuple[str, ...]
    strata: NDArray[np.int32]
    confidences: NDArray[np.float32] | None
    embeddings: NDArray[np.float32] | None

    @classmethod
    def build(
        cls,
        models: Sequence[str],
        examples: Sequence[str],
        scores: NDArray[np.generic],
        *,
        missing: NDArray[np.bool_] | None = None,
        subtasks: Sequence[str] | None = None,
        confidences: NDArray[np.generic] | None = None,
        embeddings: NDArray[np.generic] | None = None,
    ) -> Matrix:
        """Sort models and examples by id and choose the dtypes.

        Parameters
        ----------
        models, examples : sequence of str
            Distinct ids in the order of the arrays.
        scores : ndarray, shape (M, N)
            Finite values in [0, 1]; NaN marks a missing cell.
        missing : ndarray of bool, shape (M, N), optional
            Additional missing cells.
        subtasks : sequence of str, optional
            Subtask of each example, in the order of `examples`.
        confidences : ndarray, shape (M, N), optional
        embeddings : ndarray, shape (N, D), optional

        Raises
        ------
        ValueError
            A shape does not fit, or an id occurs twice.
        """
        shape = (len(models), len(examples))
        if scores.shape != shape or len(set(models)) != shape[0] or len(set(examples)) != shape[1]:
            raise ValueError(f"scores of shape {scores.shape} do not fit {shape} distinct ids")
        rows, columns = order(models), order(examples)
        values, gone = _settle(_pick(scores, rows, columns))
        if missing is not None:
            gone = _pick(missing, rows, columns) if gone is None else gone | _pick(missing, rows, columns)
            values[gone] = 0
        names, strata = _strata(subtasks, columns)
        return cls(
            models=tuple(models[i] for i in rows),
            examples=tuple(examples[j] for j in columns),
            scores=values,
            missing=gone if gone is not None and gone.any() else None,
            subtasks=names,
            strata=strata,
            confidences=None if confidences is None else _pick32(confidences, rows, columns),
            embeddings=None if embeddings is None else embeddings[columns].astype(np.float32),
        )

    @property
    def binary(self) -> bool:
        """Whether every score is 0 or 1."""
        return self.scores.dtype == np.uint8

    @property
    def missing_cells(self) -> int:
        """Number of cells without a score."""
        return 0 if self.missing is None else int(self.missing.sum())

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sum of each model's scores, shape (M,)."""
        if not self.binary:
            return np.asarray(self.scores.sum(axis=1), dtype=np.float64)
        # Row by row, because numpy counts a row of booleans four times as fast as it sums along an axis.
        return np.array([np.count_nonzero(row) for row in self.scores.view(np.bool_)], dtype=np.float64)

    @property
    def accuracies(self) -> NDArray[np.float64]:
        """Mean score of each model over its scored examples, shape (M,); NaN where it has none."""
        total = self.sums
        if self.missing is None:
            return np.asarray(total / len(self.examples))
        scored = (~self.missing).sum(axis=1)
        return np.asarray(np.divide(total, scored, out=np.full(len(total), np.nan), where=scored > 0))

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Examples on which all scored models agree, shape (N,)."""
        low = self.scores if self.missing is None else np.where(self.missing, 1, self.scores)
        return np.asarray(low.min(axis=0) >= self.scores.max(axis=0))

    def take(
        self, models: NDArray[np.integer] | None = None, examples: NDArray[np.integer] | None = None
    ) -> Matrix:
        """The submatrix with these row and column indices, each ascending and distinct."""
        rows = np.arange(len(self.models)) if models is None else models
        columns = np.arange(len(self.examples)) if examples is None else examples
        gone = None if self.missing is None else _pick(self.missing, rows, columns)
        names, strata = _strata([self.subtasks[s] for s in self.strata] if self.subtasks else None, columns)
        return Matrix(
            models=tuple(self.models[i] for i in rows),
            examples=tuple(self.examples[j] for j in columns),
            scores=self.scores.take(rows, axis=0).take(columns, axis=1),
            missing=gone if gone is not None and gone.any() else None,
            subtasks=names,
            strata=strata,
            confidences=None if self.confidences is None else _pick(self.confidences, rows, columns),
            embeddings=None if self.embeddings is None else self.embeddings[columns],
        )

    def fill(self, policy: MissingPolicy) -> Matrix:
        """A complete matrix: missing cells become 0, or their examples or models are dropped."""
        if self.missing is None:
            return self
        if policy == "zero":
            return Matrix(
                self.models, self.examples, self.scores, None,
                self.subtasks, self.strata, self.confidences, self.embeddings,
            )  # fmt: skip
        if policy == "drop_examples":
            return self.take(examples=np.flatnonzero(~self.missing.any(axis=0)))
        return self.take(models=np.flatnonzero(~self.missing.any(axis=1)))


def order(ids: Sequence[str]) -> NDArray[np.intp]:
    """Positions of the ids in the order of `Matrix.build`."""
    return np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)


def _settle(scores: NDArray[np.generic]) -> tuple[Scores, NDArray[np.bool_] | None]:
    """Scores as uint8 when all are 0 or 1, else float64; and which cells were NaN, if any can be."""
    if scores.dtype.kind in "bu" and scores.max(initial=0) <= 1:
        return scores.astype(np.uint8, copy=False), None
    values = scores.astype(np.float64)
    gone = np.isnan(values)
    values[gone] = 0
    if np.isin(values, (0.0, 1.0)).all():
        return values.astype(np.uint8), gone
    return values, gone


def _strata(
    subtasks: Sequence[str] | None, columns: NDArray[np.integer]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    if subtasks is None:
        return (), np.zeros(len(columns), dtype=np.int32)
    names, codes = np.unique(np.array([subtasks[j] for j in columns], dtype=object), return_inverse=True)
    return tuple(names.tolist()), codes.astype(np.int32)


def _pick(values: NDArray[Kind], rows: NDArray[np.integer], columns: NDArray[np.integer]) -> NDArray[Kind]:
    """The cells of these rows and columns; row by row, which is three times as fast as `ix_`."""
    picked = np.empty((len(rows), len(columns)), dtype=values.dtype)
    for row, out in zip(rows.tolist(), picked, strict=True):
        # No index is out of bounds; the mode only avoids a buffer in numpy.
        np.take(values[row], columns, out=out, mode="clip")
    return picked


def _pick32(
    values: NDArray[np.generic], rows: NDArray[np.integer], columns: NDArray[np.integer]
) -> NDArray[np.float32]:
    return _pick(values, rows, columns).astype(np.float32)
