"""How far apart a benchmark's own examples, few as they are, can tell models on new questions.

A benchmark of N examples is itself a sample of the questions one could ask. A pair that differs
by Δ on all such questions differs by about Δ ± √((D − Δ²)/N) on N of them, D the mean squared
difference per example. The resolution is the Δ at which N examples order pairs with probability p.

Source: as for random draws (statistics.md 3), without the finite-population correction; the
attenuation of a held-out half is classical test theory's (Lord and Novick, 1968).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from service.engine.data.matrix import Matrix
from service.engine.data.pairs import choose_pairs
from service.engine.measures.local_probit import BANDWIDTH, Floats

MOST_PAIRS = 100_000
STEPS = 60


@dataclass(frozen=True, slots=True, eq=False)
class PairSpread:
    """Pairs of models on a benchmark.

    Attributes
    ----------
    difference : ndarray of float64, shape (P,)
        |Δ|, the absolute difference of mean scores; above 0.
    square : ndarray of float64, shape (P,)
        D, the mean squared difference per example, unbiased: N/(N − 1) (b + c)/N for 0/1 scores.
    variance, signal : float
        Over all pairs, equal ones too: mean of D − Δ², and the variance of true differences, which
        is the mean of Δ² less what N examples add, at least 0.
    n_examples : int
    """

    difference: Floats
    square: Floats
    variance: float
    signal: float
    n_examples: int

    @classmethod
    def of(cls, matrix: Matrix) -> PairSpread:
        """All pairs of a complete matrix, or a fixed sample where they are too many."""
        n_models, n = matrix.scores.shape
        pairs = choose_pairs(n_models, 1, MOST_PAIRS, np.random.default_rng(0))
        scores: NDArray[np.floating] = matrix.scores.astype(np.float32 if matrix.binary else np.float64)
        means = matrix.scores.sum(axis=1, dtype=np.float64) / n
        difference = np.abs(means[pairs.first] - means[pairs.second])
        products = (scores @ scores.T).astype(np.float64) / n
        own = np.diag(products)
        raw = own[pairs.first] + own[pairs.second] - 2 * products[pairs.first, pairs.second]
        square = np.maximum(raw - difference**2, 0) * n / max(n - 1, 1) + difference**2
        variance = float((square - difference**2).mean())
        signal = max(float((difference**2).mean()) - variance / n, 0.0)
        apart = difference > 1e-12
        return cls(difference[apart], square[apart], variance, signal, n)

    def mdad(self, probability: float, variance_share: float) -> float:
        """Difference at which a sample with this variance per unit of D − Δ² orders pairs with probability p.

        Parameters
        ----------
        variance_share : float
            1/N for the resolution of N examples; 1/n − 1/N for n drawn from them.

        Returns
        -------
        float
            +inf without a pair that differs.
        """
        if not len(self.difference):
            return np.inf
        x, z = np.log(self.difference), float(ndtri(probability))
        found = z * np.sqrt(np.median(self.square) * variance_share)
        for _ in range(STEPS):
            if found <= 0:
                return 0.0
            kernel = np.exp(-0.5 * ((x - np.log(found)) / BANDWIDTH) ** 2)
            before, found = found, self._crossing(kernel, probability, variance_share, found)
            if abs(found / before - 1) < 1e-4:
                break
        return float(found)

    def resolution(self, probability: float, n_examples: int | None = None) -> float:
        """MDAD of N examples (all, or so many) for new questions."""
        return self.mdad(probability, 1 / (n_examples or self.n_examples))

    def variance_near(self, mdad: float) -> float:
        """Mean of D − Δ² over pairs about as far apart as an MDAD."""
        kernel = np.exp(-0.5 * ((np.log(self.difference) - np.log(mdad)) / BANDWIDTH) ** 2)
        return float(kernel @ (self.square - self.difference**2) / kernel.sum())

    def _crossing(self, kernel: Floats, probability: float, share: float, start: float) -> float:
        low, high = start / 8, start * 8
        for _ in range(40):
            middle = np.sqrt(low * high)
            spread = np.sqrt(np.maximum(self.square - middle**2, 1e-9) * share)
            if kernel @ ndtr(middle / spread) < probability * kernel.sum():
                low = middle
            else:
                high = middle
        return float(np.sqrt(low * high))
