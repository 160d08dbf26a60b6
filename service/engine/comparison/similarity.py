"""Does a new model answer like the models the examples were chosen with?

Models mostly find the same examples hard. The correlation of a model's answers with
the source models' mean answers says how far it does too; a model that is right where
they are wrong (another language, a leaked test set, scrambled ids) falls below all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Fewer models or examples than this say nothing about a pattern.
LEAST = 10
# Standard deviations below the source models' mean at which a pattern is called unlike.
FAR = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Similarity:
    """The source models' mean answers and how strongly each follows the others'.

    Attributes
    ----------
    mean : ndarray of float64, shape (n,)
        NaN where no source model has an answer.
    centre, spread : float
        Mean and standard deviation of the sources' Fisher-transformed correlations with
        the mean of the other sources; NaN where there are too few.
    """

    mean: NDArray[np.float64]
    centre: float
    spread: float

    @classmethod
    def of(cls, answers: NDArray[np.float64]) -> Similarity:
        """Learn from the sources' answers, shape (S, n), NaN where missing.

        A source's missing answers are taken as the others' mean; sources that lack
        more than a fifth are left out of `centre` and `spread`.
        """
        there = ~np.isnan(answers)
        counts = there.sum(axis=0)
        total = np.where(there, answers, 0.0).sum(axis=0)
        mean = np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
        known = counts > 0
        enough = there.mean(axis=1) >= 0.8
        filled = np.where(there, answers, mean)[np.ix_(enough, known)]
        strengths = _among_themselves(filled)
        strengths = strengths[~np.isnan(strengths)]
        if len(strengths) < LEAST:
            return cls(mean, np.nan, np.nan)
        return cls(mean, float(strengths.mean()), float(strengths.std(ddof=1)))

    def score(self, row: NDArray[np.float64]) -> float:
        """Standard deviations a new model lies from the sources, shape (n,); NaN where undefined."""
        both = ~np.isnan(row) & ~np.isnan(self.mean)
        if both.sum() < LEAST or not self.spread > 0:
            return float("nan")
        x, y = row[both] - row[both].mean(), self.mean[both] - self.mean[both].mean()
        strength = _fisher(np.array([x @ y]), np.array([x @ x]), np.array([y @ y]))
        return float((strength[0] - self.centre) / self.spread)

    def warnings(self, row: NDArray[np.float64]) -> list[str]:
        """A sentence when the model is unlike the sources."""
        if self.score(row) < -FAR:
            return [
                "Right and wrong where the source models are not: unlike them, the estimate may not hold."
            ]
        return []


def _among_themselves(answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Strength of each row with the sum of the other rows, shape (S,)."""
    if answers.shape[1] < LEAST:
        return np.empty(0)
    off = answers - answers.mean(axis=1, keepdims=True)
    total = off.sum(axis=0)
    own, with_total = np.einsum("ij,ij->i", off, off), off @ total
    return _fisher(with_total - own, own, total @ total - 2 * with_total + own)


def _fisher(
    product: NDArray[np.float64], first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Fisher's z of correlations from sums of products; NaN where a side is constant."""
    scale = first * second
    r = product / np.sqrt(np.where(scale > 1e-20, scale, np.nan))
    return np.asarray(np.arctanh(np.clip(r, -0.999999, 0.999999)))
