"""Choosing examples one by one, each time the one whose answer says most about the full score.

With F and d of a covariance F·Fᵀ + diag(d) and P the posterior covariance of the
factors, the covariance of example j with the full score is c_j = F_j·P·g + d_j / N, g
being the mean factor of what is not yet chosen, its variance q_j = F_j·P·F_jᵀ + d_j, and
answering it lowers the variance of the full score by c_j² / q_j. A step costs one product
of F with a vector. Where there are fewer examples than factors, F·P·Fᵀ itself is kept
instead of P; nothing larger than F is ever made.

From 512 chosen on, several a step: the nth step's worth is then so even that ranking a
few at once loses nothing. The order does not depend on how far it is asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.engine.covariance import Covariance
from service.engine.errors import Unsuitable
from service.engine.shrinkage import Floats

_EQUAL = 1e-9
_ONE_BY_ONE = 256


class Greedy:
    """The order of choice, extended as far as asked for.

    Parameters
    ----------
    covariance : Covariance
    strata : ndarray of int, shape (N,)
    include : ndarray of int
        Chosen first.
    allowed : ndarray of bool, shape (N,)
        False for examples never to be chosen.
    per_subtask : int
        Least number from each subtask, as far as it has that many.
    costs : ndarray of float64, shape (N,), optional
        Above 0; what is gained is then gained per cost.
    """

    def __init__(
        self,
        covariance: Covariance,
        strata: NDArray[np.integer],
        *,
        include: NDArray[np.integer],
        allowed: NDArray[np.bool_],
        per_subtask: int = 0,
        costs: Floats | None = None,
    ) -> None:
        self._factor, self._noise = covariance.factor, covariance.noise
        examples, rank = self._factor.shape
        self._by_examples = examples <= rank
        self._posterior = np.eye(rank)
        if self._by_examples:
            self._posterior = (self._factor @ self._factor.T).astype(np.float64)
        rest = self._factor.mean(axis=0, dtype=np.float64)
        self._shared = (self._factor @ rest.astype(self._factor.dtype)).astype(np.float64)
        self._explained = np.einsum("jr,jr->j", self._factor, self._factor, dtype=np.float64)
        self._strata, self._costs = strata, costs
        self._left = allowed.copy()
        self._rest = np.ones(len(allowed), dtype=bool)
        self._lacking = _quotas(strata, allowed, per_subtask)
        self.least = len(include) + self._still_lacking(include)
        self.most = int(allowed.sum())
        self._order: list[int] = []
        if len(include):
            self._take(np.sort(include))

    def first(self, size: int) -> NDArray[np.int64]:
        """The first `size` chosen examples, in order of choice.

        Raises
        ------
        Unsuitable
            Fewer than must be in it, or more than may be.
        """
        if not self.least <= size <= self.most:
            raise Unsuitable(_misfit(size, self.least, self.most))
        while len(self._order) < size:
            self._take(self._best())
        return np.array(self._order[:size], dtype=np.int64)

    def within(self, budget: float) -> NDArray[np.int64]:
        """As many as the budget pays for, in order of choice; what is too dear is passed over.

        Raises
        ------
        Unsuitable
            The examples that must be in it cost more.
        """
        costs = np.ones(len(self._left)) if self._costs is None else self._costs
        spent = float(costs[self._order].sum())
        while len(self._order) < self.most:
            self._left &= costs <= budget - spent
            if not self._left.any():
                break
            chosen = self._best()[:1]
            self._take(chosen)
            spent += float(costs[chosen].sum())
        if spent > budget or len(self._order) < self.least:
            raise Unsuitable(f"a budget of {budget:g} does not pay for the examples that must be chosen")
        return np.array(self._order, dtype=np.int64)

    def _best(self) -> NDArray[np.int64]:
        """The examples of the next step; of equals the first."""
        open_ = self._left
        if (wanting := self._lacking > 0).any():
            open_ = open_ & wanting[self._strata]
        together = 1 if wanting.any() else max(1, len(self._order) // _ONE_BY_ONE)
        covariance = self._shared + self._noise / len(self._noise)
        worth = covariance**2 / (self._explained + self._noise)
        if self._costs is not None:
            worth = worth / self._costs
        worth = np.where(open_, worth, -1.0)
        count = min(together, int(open_.sum()))
        least = np.partition(worth, -count)[-count] if count > 1 else worth.max()
        return np.flatnonzero(worth >= least * (1 - _EQUAL))[:count]

    def _take(self, chosen: NDArray[np.integer]) -> None:
        """Choose them, and condition the rest on their answers."""
        self._order.extend(int(j) for j in chosen)
        self._left[chosen] = False
        self._rest[chosen] = False
        if self._lacking.any():
            np.subtract.at(self._lacking, self._strata[chosen], 1)
        seen = self._seen(chosen)
        covariances = seen if self._by_examples else self._times(seen)
        precision = np.linalg.inv(covariances[chosen] + np.diag(self._noise[chosen]))
        gain = covariances @ precision
        self._shared -= covariances.sum(axis=1) / len(self._noise)
        self._shared -= gain @ (self._rest @ covariances) / len(self._noise)
        self._explained = np.maximum(self._explained - (gain * covariances).sum(axis=1), 0)
        self._posterior -= (gain if self._by_examples else seen @ precision) @ seen.T

    def _seen(self, chosen: NDArray[np.integer]) -> Floats:
        """Posterior covariance of the kept quantities with the chosen examples' common part."""
        if self._by_examples:
            return self._posterior[:, chosen]
        return np.asarray(self._posterior @ self._factor[chosen].T.astype(np.float64))

    def _times(self, vectors: Floats) -> Floats:
        return np.asarray(self._factor @ vectors.astype(self._factor.dtype), dtype=np.float64)

    def _still_lacking(self, include: NDArray[np.integer]) -> int:
        there = np.bincount(self._strata[include], minlength=len(self._lacking))
        return int(np.maximum(self._lacking - there, 0).sum())


def _misfit(size: int, least: int, most: int) -> str:
    if least > most or most == 0:
        return "the options leave no example to choose; exclude fewer"
    if size < least:
        return f"include and per_subtask ask for {least} examples, more than the size of {size}"
    return f"exclude leaves {most} examples, fewer than the size of {size}"


def _quotas(strata: NDArray[np.integer], allowed: NDArray[np.bool_], per_subtask: int) -> NDArray[np.int64]:
    return np.minimum(np.bincount(strata[allowed], minlength=int(strata.max()) + 1), per_subtask)
