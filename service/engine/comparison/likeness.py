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
class Likeness:
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
    def of(cls, answers: NDArray[np.float64]) -> Likeness:
        """Learn from the sources' answers, shape (S, n), NaN where missing."""
        there = ~np.isnan(answers)
        values, counts = np.where(there, answers, 0.0), there.sum(axis=0)
        total = values.sum(axis=0)
        mean = np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
        if len(answers) < LEAST or answers.shape[1] < LEAST:
            return cls(mean, np.nan, np.nan)
        others = (total - values) / np.maximum(counts - there, 1)
        strengths = _strengths(values, others, there & (counts > there))
        strengths = strengths[~np.isnan(strengths)]
        if len(strengths) < LEAST:
            return cls(mean, np.nan, np.nan)
        return cls(mean, float(strengths.mean()), float(strengths.std(ddof=1)))

    def score(self, row: NDArray[np.float64]) -> float:
        """Standard deviations a new model lies from the sources, shape (n,); NaN where undefined."""
        if not self.spread > 0:
            return float("nan")
        both = ~np.isnan(row) & ~np.isnan(self.mean)
        strength = _strengths(np.nan_to_num(row)[None], np.nan_to_num(self.mean)[None], both[None])
        return float((strength[0] - self.centre) / self.spread)

    def warnings(self, row: NDArray[np.float64]) -> list[str]:
        """A sentence when the model is unlike the sources."""
        if self.score(row) < -FAR:
            return [
                "Right and wrong where the source models are not: unlike them, so the estimate may not hold."
            ]
        return []


def _strengths(
    x: NDArray[np.float64], y: NDArray[np.float64], there: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Fisher's z of each row's correlation over its cells, shape (S,); NaN for constant or short rows."""
    count = np.maximum(there.sum(axis=1, keepdims=True), 1)
    x = np.where(there, x - (x * there).sum(axis=1, keepdims=True) / count, 0.0)
    y = np.where(there, y - (y * there).sum(axis=1, keepdims=True) / count, 0.0)
    scale = (x**2).sum(axis=1) * (y**2).sum(axis=1)
    r = (x * y).sum(axis=1) / np.sqrt(np.where(scale > 1e-20, scale, np.nan))
    r[count[:, 0] < LEAST] = np.nan
    return np.asarray(np.arctanh(np.clip(r, -0.999999, 0.999999)))
