"""k-medoids on a distance matrix: greedy BUILD, then eager swaps to a local optimum.

The swap phase is FasterPAM (Schubert & Rousseeuw 2021, "Fast and eager k-medoids
clustering", Information Systems 101). When candidate j replaces the medoid of
cluster C, the loss changes by

    Σ_{o ∈ C} (d2 − d1)  −  Σ_o max(d1 − d_oj, 0)  −  Σ_{o ∈ C} max(d2 − max(d_oj, d1), 0)

with d1 and d2 the distances of o to its nearest and second nearest medoid. Only pairs with d_oj < d2
matter, and they become few as k grows. So one sparse pass over a block of rows computes the changes of
all their swaps; then the promising candidates are tried one by one with the current medoids.

BUILD is facility location, which is submodular: gains only shrink as medoids are added, so old gains are
upper bounds and few must be recomputed at each step. The greedy order is the same for every k. Random
restarts avoid the poor local optima that BUILD can lead to if distances are low-dimensional.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BLOCK_CELLS = 1 << 18
_BLOCK_ROWS = 32
_REFRESH = 32
_SLACK = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """k medoids and the cluster of every point.

    Attributes
    ----------
    medoids : ndarray of int64, shape (k,)
        Points, ascending, distinct.
    labels : ndarray of int64, shape (N,)
        Index into `medoids`; every medoid is in its own cluster.
    loss : float
        Sum of the distances to the nearest medoid.
    converged : bool
        Whether no single swap lowers the loss by more than a millionth.
    """

    medoids: NDArray[np.int64]
    labels: NDArray[np.int64]
    loss: float
    converged: bool


class KMedoids:
    """k-medoids of one distance matrix, for any number of clusters.

    Parameters
    ----------
    distances : ndarray of float32, shape (N, N)
        Symmetric, finite, non-negative, zero on the diagonal. Not copied.
    """

    def __init__(self, distances: NDArray[np.float32]) -> None:
        self._distances = distances
        first = int(np.argmin(distances.sum(axis=1, dtype=np.float64)))
        self._order = [first]
        self._nearest = distances[first].copy()
        self._gains = np.full(len(distances), self._nearest.sum(dtype=np.float64))
        self._gains[first] = -1

    def cluster(
        self, k: int, rng: np.random.Generator, *, restarts: int = 4, max_sweeps: int = 50
    ) -> Clustering:
        """Cluster into k, 1 ≤ k ≤ N; the result does not depend on earlier calls.

        Parameters
        ----------
        k : int
            Number of medoids.
        rng : Generator
            Draws the starts after the first one, which is BUILD.
        restarts : int, default 4
            Random starts in addition to BUILD; the lowest loss is used.
        max_sweeps : int, default 50
            Maximum number of passes over all candidates per start; `Clustering.converged` says whether
            they were enough.
        """
        n = len(self._distances)
        best = self._descend(self.build(k), max_sweeps)
        for _ in range(restarts if 1 < k < n else 0):
            other = self._descend(rng.choice(n, k, replace=False), max_sweeps)
            best = min(best, other, key=lambda clustering: clustering.loss)
        return best

    def _descend(self, start: NDArray[np.int64], max_sweeps: int) -> Clustering:
        k = len(start)
        swaps = _Swaps(self._distances, start)
        converged = k in (1, len(self._distances)) or any(swaps.sweep() == 0 for _ in range(max_sweeps))
        order = np.argsort(swaps.medoids)
        labels = np.argsort(order)[swaps.nearest]
        labels[swaps.medoids[order]] = np.arange(k)
        return Clustering(swaps.medoids[order], labels, swaps.loss, converged)

    def build(self, k: int) -> NDArray[np.int64]:
        """The first k medoids of the greedy order; each one lowers the loss the most."""
        while len(self._order) < k:
            chosen = self._largest_gain()
            self._order.append(chosen)
            np.minimum(self._nearest, self._distances[chosen], out=self._nearest)
            self._gains[chosen] = -1
        return np.array(self._order[:k], dtype=np.int64)

    def _largest_gain(self) -> int:
        """The candidate with the largest gain; recomputes only gains that could still be the largest."""
        bounds = self._gains.copy()
        while True:
            ahead = int(np.argmax(self._gains))
            if bounds[ahead] < 0:
                return ahead
            count = min(_REFRESH, len(bounds))
            stale = np.argpartition(-bounds, count - 1)[:count]
            stale = stale[bounds[stale] >= 0]
            saved = np.maximum(self._nearest - self._distances[stale], 0)
            self._gains[stale] = saved.sum(axis=1, dtype=np.float64)
            bounds[stale] = -1


class _Swaps:
    """State of the swap phase: the medoids, and each point's two nearest medoids."""

    def __init__(self, distances: NDArray[np.float32], medoids: NDArray[np.int64]) -> None:
        n = len(distances)
        self.distances = distances
        self.medoids = medoids.copy()
        self.nearest = np.zeros(n, dtype=np.int64)
        self.second = np.zeros(n, dtype=np.int64)
        self.d1 = distances[medoids[0]].copy()
        self.d2 = np.full(n, distances.max(), dtype=np.float32)
        if len(medoids) > 1:
            self._find_nearest(np.arange(n))

    @property
    def loss(self) -> float:
        """Sum of the distances to the nearest medoids."""
        return float(self.d1.sum(dtype=np.float64))

    def sweep(self) -> int:
        """Try every point as a medoid, one block at a time; returns the number of swaps."""
        n = len(self.distances)
        step = min(_BLOCK_ROWS, max(1, _BLOCK_CELLS // n))
        return sum(self._swap_until_optimal(start, min(start + step, n)) for start in range(0, n, step))

    def _swap_until_optimal(self, start: int, stop: int) -> int:
        """Make the best swap with a candidate in start … stop until none lowers the loss."""
        swaps, loss = 0, self.loss
        while True:
            changes = self._changes(start, stop)
            candidate, replaced = divmod(int(np.argmin(changes)), changes.shape[1])
            if changes[candidate, replaced] >= -_SLACK * loss:
                return swaps
            self._swap(replaced, start + candidate)
            # Small gains can be rounding errors, and swapping for them could cycle forever.
            if self.loss >= loss:
                return swaps
            swaps, loss = swaps + 1, self.loss

    def _changes(self, start: int, stop: int) -> NDArray[np.float64]:
        """Change of the loss for each candidate in start … stop against each medoid, shape (B, k)."""
        k, block = len(self.medoids), self.distances[start:stop]
        row, point = np.nonzero(block < self.d2)
        distance, d1 = block[row, point], self.d1[point]
        shared = np.bincount(row, np.maximum(d1 - distance, 0), len(block))
        spared = self.d2[point] - np.maximum(distance, d1)
        own = np.bincount(row * k + self.nearest[point], spared, len(block) * k).reshape(-1, k)
        removal = np.bincount(self.nearest, self.d2 - self.d1, k)
        return np.asarray(removal - own - shared[:, None])

    def _swap(self, replaced: int, candidate: int) -> None:
        self.medoids[replaced] = candidate
        distance = self.distances[candidate]
        reassigned = (self.nearest == replaced) | (self.second == replaced)
        closest = ~reassigned & (distance < self.d1)
        closer = ~reassigned & ~closest & (distance < self.d2)
        self.second[closest], self.d2[closest] = self.nearest[closest], self.d1[closest]
        self.nearest[closest], self.d1[closest] = replaced, distance[closest]
        self.second[closer], self.d2[closer] = replaced, distance[closer]
        self._find_nearest(np.flatnonzero(reassigned))

    def _find_nearest(self, points: NDArray[np.int64]) -> None:
        """Find the two nearest medoids of these points."""
        distances = self.distances[points[:, None], self.medoids]
        two = np.argpartition(distances, 1, axis=1)
        rows = np.arange(len(points))
        self.nearest[points], self.second[points] = two[:, 0], two[:, 1]
        self.d1[points], self.d2[points] = distances[rows, two[:, 0]], distances[rows, two[:, 1]]
