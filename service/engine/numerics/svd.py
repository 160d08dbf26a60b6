"""The leading singular vectors of a matrix that is long in one direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import svds

Floats = NDArray[np.float64]

_SMALL_SIDE = 1024


def leading_triplets(matrix: Floats, count: int) -> tuple[Floats, Floats, Floats]:
    """The largest singular values with their vectors.

    From the Gram matrix of the smaller side while that is small, else by Lanczos
    iteration from a fixed start.

    Parameters
    ----------
    matrix : ndarray, shape (R, C)
    count : int
        How many, 1 ≤ count ≤ min(R, C).

    Returns
    -------
    left : ndarray, shape (R, count)
    values : ndarray, shape (count,)
        Descending. Vectors of values that are 0 are 0 on the longer side.
    right : ndarray, shape (C, count)
    """
    rows, columns = matrix.shape
    if rows < columns:
        right, values, left = leading_triplets(matrix.T, count)
        return left, values, right
    if columns > _SMALL_SIDE:
        u, s, vt = svds(matrix, k=count, v0=np.ones(columns))
        return u[:, ::-1], s[::-1], vt[::-1].T
    squares, vectors = eigh(matrix.T @ matrix, subset_by_index=(columns - count, columns - 1))
    squares, right = squares[::-1], vectors[:, ::-1]
    values = np.sqrt(np.where(squares > squares[0] * columns * np.finfo(float).eps, squares, 0))
    left = matrix @ right
    np.divide(left, values, out=left, where=values > 0)
    left[:, values == 0] = 0
    return left, values, right
