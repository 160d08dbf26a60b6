"""What is left unknown of a new model's scores under several covariances, as examples are answered.

With F and d of a covariance F·Fᵀ + diag(d) and P the posterior covariance of the
factors, the covariance of example j with the full score is c_j = F_j·P·g + d_j / N, g
being the mean factor of what is not yet chosen, its variance q_j = F_j·P·F_jᵀ + d_j, and
answering it lowers the variance of the full score by c_j² / q_j. A step costs one product
of F with a vector. Where there are fewer examples than factors, F·Fᵀ is kept instead of P,
with the rows by which the chosen examples lower it (a pivoted Cholesky decomposition, one row
an example); nothing larger than F is ever made. All covariances take a step together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service.engine.prediction.covariance import Covariance
from service.engine.prediction.shrinkage import Floats

_LEAST_VARIANCE = 1e-15
_ROOM = 64
_LARGE = 1 << 20
"""Numbers beyond which single precision is enough, and half the memory."""


class Posteriors:
    """J covariances of the same N examples, conditioned on the answers to the examples taken so far.

    Parameters
    ----------
    covariances : sequence of Covariance
    """

    def __init__(self, covariances: Sequence[Covariance]) -> None:
        self._factor, self._noise = _stacked(covariances), np.stack([c.noise for c in covariances])
        count, examples, rank = self._factor.shape
        self._by_examples = examples <= rank
        if self._by_examples:
            self._left: Floats = (self._factor @ self._factor.swapaxes(1, 2)).astype(np.float64)
        else:
            self._left = np.tile(np.eye(rank), (count, 1, 1))
        self._rows, self._taken = np.zeros((count, _ROOM, examples if self._by_examples else 0)), 0
        rest = self._factor.mean(axis=1, dtype=np.float64)
        self._shared = self._times(rest[:, :, None])[:, :, 0]
        self._explained = np.einsum("gjr,gjr->gj", self._factor, self._factor, dtype=np.float64)
        self._rest = np.ones(examples, dtype=bool)

    def worth(self) -> Floats:
        """Share of the full score's variance that each example's answer would remove, shape (J, N)."""
        examples = len(self._rest)
        with_full = self._shared + self._noise / examples
        variance = np.maximum(with_full[:, self._rest].sum(axis=1) / examples, _LEAST_VARIANCE)
        return np.asarray(with_full**2 / (self._explained + self._noise) / variance[:, None])

    def take(self, chosen: NDArray[np.integer]) -> None:
        """Condition the rest on the answers to these."""
        examples = len(self._rest)
        self._rest[chosen] = False
        if self._by_examples:
            known = self._rows[:, : self._taken]
            covariances = self._left[:, :, chosen] - known.swapaxes(1, 2) @ known[:, :, chosen]
        else:
            seen = self._left @ self._factor[:, chosen].swapaxes(1, 2).astype(np.float64)
            covariances = self._times(seen)
        pivot = covariances[:, chosen] + self._noise[:, chosen, None] * np.eye(len(chosen))
        rows = _lowered(pivot, covariances.swapaxes(1, 2))
        with_rest = (rows @ self._rest)[:, None]
        self._shared -= (covariances.sum(axis=2) + (with_rest @ rows)[:, 0]) / examples
        self._explained = np.maximum(self._explained - (rows**2).sum(axis=1), 0)
        if self._by_examples:
            self._keep(rows)
        else:
            self._left -= seen @ np.linalg.inv(pivot) @ seen.swapaxes(1, 2)

    def _keep(self, rows: Floats) -> None:
        count = rows.shape[1]
        while self._taken + count > self._rows.shape[1]:
            self._rows = np.concatenate((self._rows, np.zeros_like(self._rows)), axis=1)
        self._rows[:, self._taken : self._taken + count] = rows
        self._taken += count

    def _times(self, vectors: Floats) -> Floats:
        return np.asarray(self._factor @ vectors.astype(self._factor.dtype), dtype=np.float64)


def _stacked(covariances: Sequence[Covariance]) -> NDArray[np.floating]:
    """Factors with columns of zeros up to the same rank, shape (J, N, R)."""
    rank = max(c.factor.shape[1] for c in covariances)
    shape = (len(covariances), len(covariances[0].mean), rank)
    narrow = all(c.factor.dtype == np.float32 for c in covariances) or np.prod(shape) > _LARGE
    factor = np.zeros(shape, dtype=np.float32 if narrow else np.float64)
    for place, covariance in zip(factor, covariances, strict=True):
        place[:, : covariance.factor.shape[1]] = covariance.factor
    return factor


def _lowered(pivot: Floats, covariances: Floats) -> Floats:
    """L⁻¹ × covariances with pivot = L·Lᵀ, shape (J, m, N)."""
    if pivot.shape[1] == 1:
        return np.asarray(covariances / np.sqrt(pivot))
    return np.asarray(np.linalg.inv(np.linalg.cholesky(pivot)) @ covariances)
