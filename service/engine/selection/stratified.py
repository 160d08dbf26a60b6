"""`stratified`: random draws within subtasks, weighted by the subtasks' sizes.

If there are too few draws for all subtasks, small subtasks are pooled, so that every example can be
drawn and every stratum is represented: the estimate of a perfect model is 1 at every size.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from service.engine.data.allocation import largest_remainder
from service.engine.data.contracts import ScoredBy, Source, Subset, Traits, weighted_mean

Allocation = Literal["proportional", "equal"]


class Stratified:
    """Subtask-stratified sampling.

    Parameters
    ----------
    allocation : {"proportional", "equal"}
        Draws in proportion to the subtasks' sizes, or equally many from each; draws beyond a subtask's
        size go to the others.
    """

    name: ClassVar[str] = "stratified"
    estimators: ClassVar[tuple[str, ...]] = ("weighted",)
    scored_by: ClassVar[ScoredBy] = "scores"
    traits: ClassVar[Traits] = Traits(elaborate=1, sample="stratified", by_subtask=True)

    def __init__(self, allocation: Allocation = "proportional") -> None:
        if allocation not in get_args(Allocation):
            raise ValueError(f"allocation must be 'proportional' or 'equal', not {allocation!r}")
        self.allocation: Allocation = allocation

    def fit(self, source: Source, rng: np.random.Generator) -> FittedStratified:
        """Draw one order of the examples; the source models are not used."""
        return FittedStratified(self.allocation, source.strata, rng.permutation(source.n_examples))


@dataclass(frozen=True, slots=True, eq=False)
class FittedStratified:
    """The subtask of each example and one random order of them, both of shape (N,)."""

    allocation: Allocation
    strata: NDArray[np.int32]
    order: NDArray[np.int64]

    def pick(self, size: int) -> Subset:
        """The first examples of the order in each pool, weighted by pool size over draws."""
        pool_of, draws = pools(np.bincount(self.strata), size, self.allocation)
        pool = pool_of[self.strata]
        ordered = pool[self.order]
        by_pool = np.argsort(ordered, kind="stable")
        sizes = np.bincount(pool, minlength=len(draws))
        rank = np.arange(len(pool)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen = np.sort(self.order[by_pool[rank < draws[ordered[by_pool]]]])
        return Subset(chosen, (sizes / draws / len(pool))[pool[chosen]])

    def estimate(self, subset: Subset, answers: NDArray[np.float64], estimator: str) -> NDArray[np.float64]:
        """The mean of the subtasks' mean answers, weighted by subtask size, shape (T,)."""
        return weighted_mean(subset, answers)


def pools(
    sizes: NDArray[np.integer], size: int, allocation: Allocation
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The strata to draw from: subtasks, of which small ones are pooled if there are few draws.

    Parameters
    ----------
    sizes : ndarray of int, shape (K,)
        Examples in each subtask; subtasks may be empty.
    size : int
        Examples to draw in all, 1 ≤ size ≤ sum of `sizes`.

    Returns
    -------
    pool_of : ndarray of int64, shape (K,)
        Pool of each subtask.
    draws : ndarray of int64, shape (P,)
        Examples to draw from each pool, each at least 1; they sum to `size`.
    """
    pool_of = _pool_small(sizes, size) if allocation == "proportional" else _pool_evenly(sizes, size)
    capacities = np.bincount(pool_of, weights=sizes).astype(np.int64)
    shares = capacities if allocation == "proportional" else np.ones(len(capacities))
    # A fixed seed: the draws depend only on the sizes, as the formula for exact agreement requires.
    ties = np.random.default_rng(0)
    return pool_of, largest_remainder(size, shares, capacities, ties, least=1)


def _pool_small(sizes: NDArray[np.integer], size: int) -> NDArray[np.int64]:
    """Pool subtasks, the smallest first, until each pool gets at least one draw."""
    total, held, pool = int(sizes.sum()), 0, 0
    pool_of = np.zeros(len(sizes), dtype=np.int64)
    for stratum in np.argsort(sizes, kind="stable"):
        pool_of[stratum] = pool
        held += int(sizes[stratum])
        if held * size >= total:
            held, pool = 0, pool + 1
    return np.minimum(pool_of, max(pool - 1, 0))


def _pool_evenly(sizes: NDArray[np.integer], size: int) -> NDArray[np.int64]:
    """At most `size` pools of similar size, by the largest-first rule."""
    heap = [(0, pool) for pool in range(min(size, max(1, int((sizes > 0).sum()))))]
    pool_of = np.zeros(len(sizes), dtype=np.int64)
    for stratum in np.argsort(-sizes, kind="stable"):
        held, pool = heapq.heappop(heap)
        pool_of[stratum] = pool
        heapq.heappush(heap, (held + int(sizes[stratum]), pool))
    return pool_of
