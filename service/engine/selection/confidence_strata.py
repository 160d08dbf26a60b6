"""`confidence_strata`: random draws within strata of similar difficulty.

Examples are grouped by the source models' mean confidence in the right answer (mean
score without confidences) into ten k-means strata, or into as many as there are examples to draw if that
is fewer, so that every stratum is represented at every size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import ScoredBy, Source, Subset, Traits, weighted_mean
from service.engine.selection.clusters import kmeans, represent


class ConfidenceStrata:
    """Sampling stratified by mean confidence (Fogliato et al. 2024, as used in arXiv 2510.08730).

    Parameters
    ----------
    strata : int, default 10
        Maximum number of strata.
    """

    name: ClassVar[str] = "confidence_strata"
    estimators: ClassVar[tuple[str, ...]] = ("weighted",)
    scored_by: ClassVar[ScoredBy] = "scores"
    traits: ClassVar[Traits] = Traits(elaborate=2)

    def __init__(self, strata: int = 10) -> None:
        if not isinstance(strata, int) or isinstance(strata, bool) or not 1 <= strata <= 100:
            raise ValueError(f"strata must be a whole number from 1 to 100, not {strata!r}")
        self.strata = strata

    def fit(self, source: Source, rng: np.random.Generator) -> FittedStrata:
        """Mean confidence of every example, and one random order of them."""
        values = source.scores if source.confidences is None else source.confidences
        means = values.mean(axis=0, dtype=np.float64)
        return FittedStrata(
            self.strata, means, rng.permutation(source.n_examples), int(rng.integers(1 << 31))
        )


@dataclass(frozen=True, slots=True, eq=False)
class FittedStrata:
    """The sources' mean confidence of each example and a random ranking of them, both of shape (N,)."""

    strata: int
    means: NDArray[np.float64]
    ranking: NDArray[np.int64]
    seed: int

    def pick(self, size: int) -> Subset:
        """Draws from each stratum by largest remainder, weighted by stratum size over draws."""
        labels, _ = kmeans(self.means[:, None], min(self.strata, size), self.seed)
        return represent(labels, self.ranking, size, self.seed)

    def estimate(self, subset: Subset, answers: NDArray[np.float64], estimator: str) -> NDArray[np.float64]:
        """The mean of the strata's mean answers, weighted by stratum size, shape (T,)."""
        return weighted_mean(subset, answers)
