"""Choosing examples one by one, each time the one whose answer says most about the full score.

How much that is, several covariances say (`Part`), each with a weight that changes with the
number chosen: those given an ability, one learnt example by example, and a plain one that
knows only kinds of examples. A few examples are best chosen by all that was learnt; but when
half of them are chosen, the error lies in the other half, and the learnt covariance leaves
those together of which it underestimates what they share, since they look the least
informative.

From 128 chosen on, several a step: the nth step's worth is then so even that ranking a
few at once loses nothing. The order does not depend on how far it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.data.errors import Unsuitable
from service.engine.prediction.covariance import Covariance
from service.engine.prediction.posterior import Posteriors
from service.engine.prediction.shrinkage import Floats

_EQUAL = 1e-9
_ONE_BY_ONE = 64


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One covariance's say in the choice.

    Attributes
    ----------
    covariance : Covariance
    first, last : float
        Its weight when nothing and when everything is chosen; linear between.
    """

    covariance: Covariance
    first: float
    last: float


class Greedy:
    """The order of choice, extended as far as asked for.

    Parameters
    ----------
    parts : sequence of Part
        Whose weighted mean of the shares of variance removed is made largest.
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
        parts: Sequence[Part],
        strata: NDArray[np.integer],
        *,
        include: NDArray[np.integer],
        allowed: NDArray[np.bool_],
        per_subtask: int = 0,
        costs: Floats | None = None,
    ) -> None:
        parts = [part for part in parts if part.first > 0 or part.last > 0]
        self._posteriors = Posteriors([part.covariance for part in parts])
        self._first = np.array([part.first for part in parts])
        self._last = np.array([part.last for part in parts])
        self._strata, self._costs = strata, costs
        self._left = allowed.copy()
        self._shuffled = np.random.default_rng(0).permutation(len(allowed))
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
            chosen = self._best()[:1]
            if not len(chosen):
                break
            self._take(chosen)
            spent += float(costs[chosen].sum())
        if spent > budget or len(self._order) < self.least:
            raise Unsuitable(f"a budget of {budget:g} does not pay for the examples that must be chosen")
        return np.array(self._order, dtype=np.int64)

    def _best(self) -> NDArray[np.int64]:
        """The examples of the next step; of equals those first in a fixed shuffled order.

        Neighbours are often of one topic, and equals may be most of a benchmark that no source
        model can do: then this is a random sample of them.
        """
        open_ = self._left
        if (wanting := self._lacking > 0).any():
            open_ = open_ & wanting[self._strata]
        together = 1 if wanting.any() else max(1, len(self._order) // _ONE_BY_ONE)
        worth = self._worth()
        if self._costs is not None:
            worth = worth / self._costs
        worth = np.where(open_, worth, -1.0)
        count = min(together, int(open_.sum()))
        least = np.partition(worth, -count)[-count] if count > 1 else worth.max()
        equals = self._shuffled[worth[self._shuffled] >= least * (1 - _EQUAL)]
        return np.sort(equals[:count])

    def _worth(self) -> Floats:
        done = len(self._order) / len(self._left)
        weights = (1 - done) * self._first + done * self._last
        return np.asarray(weights @ self._posteriors.worth())

    def _take(self, chosen: NDArray[np.integer]) -> None:
        """Choose them, and condition the rest on their answers."""
        self._order.extend(int(j) for j in chosen)
        self._left[chosen] = False
        if self._lacking.any():
            np.subtract.at(self._lacking, self._strata[chosen], 1)
        self._posteriors.take(chosen)

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
