"""`diversity`: examples that are far apart in embedding space, approximately a k-DPP's most probable set.

The space is that of the user's embeddings, or else of the leading principal components of the source
models' scores, centred by example, so that examples are close if the same models do well on them. The
kernel is exp(−distance² / mean distance²) and the set is built greedily, each time the example with the
largest variance given those chosen (Chen et al. 2018, "Fast greedy MAP inference for determinantal point
processes"); ties go to the most central example. Nothing here is random.

If more examples are requested than the rank of the kernel, the remaining variance is rounding error.
Then the greedy order starts again with the examples that were not chosen yet.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import ScoredBy, Source, Subset, Traits, weighted_mean
from service.engine.numerics.svd import leading_triplets

_RANK_FLOOR = 1e-6
_EQUAL = 1e-9
"""Differences below this are rounding, which processors do differently."""


class Diversity:
    """Greedy k-DPP.

    Parameters
    ----------
    components : int, default 4
        Principal components of the scores that span the space, as in arXiv
        2510.08730; without effect when the matrix has embeddings.
    """

    name: ClassVar[str] = "diversity"
    estimators: ClassVar[tuple[str, ...]] = ("mean",)
    scored_by: ClassVar[ScoredBy] = "scores"
    traits: ClassVar[Traits] = Traits(elaborate=4)

    def __init__(self, components: int = 4) -> None:
        if not isinstance(components, int) or isinstance(components, bool) or not 1 <= components <= 100:
            raise ValueError(f"components must be a whole number from 1 to 100, not {components!r}")
        self.components = components

    def fit(self, source: Source, rng: np.random.Generator) -> FittedDiversity:
        """Compute the coordinates of the examples."""
        if source.embeddings is not None:
            points = source.embeddings.astype(np.float64)
            return FittedDiversity(points - points.mean(axis=0))
        centred = source.scores.T - source.scores.mean(axis=0, dtype=np.float64)[:, None]
        left, values, _ = leading_triplets(centred, min(self.components, *centred.shape))
        return FittedDiversity(left * values)


class FittedDiversity:
    """The greedy order, extended as needed; larger subsets contain the smaller ones.

    Parameters
    ----------
    points : ndarray, shape (N, D)
    """

    def __init__(self, points: NDArray[np.float64]) -> None:
        self._points = points
        self._squares = (points**2).sum(axis=1)
        spread = points - points.mean(axis=0)
        self._centrality = (spread**2).sum(axis=1)
        self._width = 2 * float(self._centrality.mean()) or 1.0
        self._order: list[int] = []
        self._left = np.ones(len(points), dtype=bool)
        self._restart()

    def pick(self, size: int) -> Subset:
        """The first `size` of the greedy order, equally weighted."""
        while len(self._order) < size:
            self._extend()
        return Subset(np.sort(np.array(self._order[:size], dtype=np.int64)), np.full(size, 1 / size))

    def _restart(self) -> None:
        """Start again: every example has variance 1."""
        self._variance = np.ones(len(self._points))
        self._factor = np.empty((16, len(self._points)))
        self._rank = 0

    def _extend(self) -> None:
        """Choose the example with the largest remaining variance, and condition the others on it."""
        remaining = np.where(self._left, self._variance, -1.0)
        if self._rank and remaining.max() < _RANK_FLOOR:
            self._restart()
            remaining = np.where(self._left, self._variance, -1.0)
        equal = np.flatnonzero(remaining >= remaining.max() - _EQUAL)
        central = self._centrality[equal]
        chosen = int(equal[np.argmax(central <= central.min() + _EQUAL * self._width)])
        self._order.append(chosen)
        self._left[chosen] = False
        self._condition(chosen)

    def _condition(self, chosen: int) -> None:
        """One step of the pivoted Cholesky factorisation of the kernel."""
        if self._rank == len(self._factor):
            self._factor = np.concatenate((self._factor, np.empty_like(self._factor)))
        done = self._factor[: self._rank]
        row = (self._kernel(chosen) - done[:, chosen] @ done) / np.sqrt(self._variance[chosen])
        self._factor[self._rank] = row
        self._rank += 1
        self._variance -= row**2

    def _kernel(self, chosen: int) -> NDArray[np.float64]:
        distances = self._squares + self._squares[chosen] - 2 * (self._points @ self._points[chosen])
        return np.asarray(np.exp(-np.maximum(distances, 0) / self._width))

    def estimate(self, subset: Subset, answers: NDArray[np.float64], estimator: str) -> NDArray[np.float64]:
        """The mean answer, shape (T,)."""
        return weighted_mean(subset, answers)
