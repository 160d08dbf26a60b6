"""How the examples answered stand for the full benchmark.

A simple random sample is one stratum. Every mean, variance and effective size of
a design-based estimate comes from here, so that an estimate and its standard error
are always of the same quantity (Cochran 1977, *Sampling Techniques*, ch. 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.engine.selection.stratified import Allocation, pools

Truth = Literal["population", "full_benchmark", "runs"]
"""Questions like these, these runs on every example, or new runs on every example."""
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Strata of the answered examples.

    Attributes
    ----------
    strata : ndarray of int64, shape (n,)
        Stratum of each answered example, 0 … K−1; every stratum occurs.
    sizes : ndarray of int64, shape (K,)
        Examples of each stratum in the full benchmark, at least those answered.
    shares : ndarray of float64, shape (K,)
        What each stratum counts in the score wanted; sums to 1. By default its
        share of the examples (a micro average); equal shares ask for a macro one.
    """

    strata: NDArray[np.int64]
    sizes: NDArray[np.int64]
    shares: Values

    @classmethod
    def random(cls, n: int, total: int) -> Design:
        """A simple random sample: n examples of `total`; all of them are the full benchmark."""
        return cls(np.zeros(n, dtype=np.int64), np.array([total]), np.ones(1))

    @classmethod
    def stratified(
        cls, strata: NDArray[np.integer], sizes: NDArray[np.integer], shares: Values | None = None
    ) -> Design:
        """Draws within strata of the given sizes; strata without a draw are left out."""
        shares = sizes / sizes.sum() if shares is None else shares
        return cls(strata.astype(np.int64), sizes.astype(np.int64), shares).keep(np.ones(len(strata), bool))

    def keep(self, answered: NDArray[np.bool_]) -> Design:
        """The design of the examples answered; the others are taken as missing at random in their stratum."""
        strata = self.strata[answered]
        occurs = np.bincount(strata, minlength=len(self.sizes)) > 0
        shares = self.shares[occurs]
        return Design((np.cumsum(occurs) - 1)[strata], self.sizes[occurs], shares / shares.sum())

    @property
    def counts(self) -> NDArray[np.int64]:
        """Answered examples of each stratum, shape (K,), all ≥ 1."""
        return np.bincount(self.strata, minlength=len(self.sizes))

    @property
    def total(self) -> int:
        """Examples of the full benchmark, N."""
        return int(self.sizes.sum())

    @property
    def weights(self) -> Values:
        """Weight of each answered example in the estimate, shape (n,), summing to 1."""
        return np.asarray((self.shares / self.counts)[self.strata])

    @property
    def fractions(self) -> Values:
        """Share of each example's stratum that was answered, shape (n,)."""
        return np.asarray((self.counts / self.sizes)[self.strata])

    @property
    def complete(self) -> bool:
        """Whether the whole benchmark was answered."""
        return bool((self.counts == self.sizes).all())

    def mean(self, values: Values) -> Values:
        """Estimates of the full mean from values on the examples, shape (…, n) → (…)."""
        # Rounding of the weights must not carry a mean beyond its values.
        return np.clip(values @ self.weights, values.min(axis=-1), values.max(axis=-1))

    def within(self, values: Values) -> Values:
        """Sample variance within each stratum, shape (…, n) → (…, K).

        A stratum of one example borrows the pooled variance of the others; when all
        are of one, the variance around the overall mean (so stratifying is not credited).
        """
        counts, member = self.counts, np.eye(len(self.sizes))[self.strata]
        mean = values @ (member / counts)
        squares = (values - mean[..., self.strata]) ** 2 @ member
        pooled = squares.sum(-1) / max(len(self.strata) - len(counts), 1)
        if (counts == 1).all():
            pooled = _overall(values, self.mean(values))
        return np.where(counts > 1, squares / np.maximum(counts - 1, 1), pooled[..., None])

    def variance(self, values: Values, truth: Truth) -> Values:
        """Variance of `mean`, shape (…, n) → (…); 0 for the full benchmark once it is complete."""
        per_stratum = self.shares**2 / self.counts
        if truth != "population":
            per_stratum = per_stratum * (1 - self.counts / self.sizes)
        return np.asarray(self.within(values) @ per_stratum)

    def effective_size(self, values: Values, bound: Values, truth: Truth, pseudo: float) -> Values:
        """Independent 0/1 examples that would tell as much, shape (…, n) → (…).

        Parameters
        ----------
        values : ndarray, shape (…, n)
        bound : ndarray, shape (…,)
            Variance one value would have were it 0/1 (or −1/0/1) with the same mean.
        pseudo : float
            Pseudo-variance over all n examples that holds the design effect away
            from 0 and infinity when all values of a stratum are equal.
        """
        n, counts = len(self.strata), self.counts
        left = np.ones(len(counts))
        if truth != "population":
            left = (self.sizes - counts) / np.maximum(self.sizes - 1, 1)
        per_stratum = self.shares**2 * left / counts
        if per_stratum.sum() == 0:
            return np.full(np.shape(bound), np.inf)
        plain = 1 / per_stratum.sum()
        spread = self.within(values) @ per_stratum * plain
        return np.asarray(plain * (n * bound * n / max(n - 1, 1) + pseudo) / (n * spread + pseudo))


def stratified_design(
    strata: NDArray[np.integer], chosen: NDArray[np.integer], allocation: Allocation
) -> Design:
    """The design of a subset that the method `stratified` drew.

    Parameters
    ----------
    strata : ndarray of int, shape (N,)
        Subtask of every example drawn from.
    chosen : ndarray of int, shape (n,)
        The examples drawn, all that were asked for.
    allocation : {"proportional", "equal"}
        As it was drawn; small subtasks are pooled as they were then.
    """
    pool = pools(np.bincount(strata), len(chosen), allocation)[0][strata]
    return Design.stratified(pool[chosen], np.bincount(pool))


def _overall(values: Values, mean: Values) -> Values:
    n = values.shape[-1]
    return np.asarray(((values - mean[..., None]) ** 2).sum(-1) / max(n - 1, 1))
