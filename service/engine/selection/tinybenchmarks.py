"""`tinybenchmarks`: examples that represent clusters of similar item parameters.

A multidimensional two-parameter IRT model is fitted to the source models, examples
are clustered by k-means on their discriminations and difficulty, and the example
nearest to each cluster's mean is chosen (Maia Polo et al. 2024, "tinyBenchmarks",
arXiv 2402.14992). Three estimators:

`weighted`
    each answer weighted by its cluster's share; what arXiv 2510.08730 used.
`pirt`
    the answers, and the IRT model's predictions for all other examples.
`gpirt`
    λ · weighted + (1 − λ) · pirt. The first has high variance and low bias, the second low variance and
    high bias, hence λ = b² / (b² + v) as in tinyBenchmarks, with b² the mean squared error of pirt on
    the source models with this subset, and v the variance of the mean of equally many examples drawn at
    random. tinyBenchmarks takes b from a validation split, and v / 4 to allow for the gain of
    clustering; on GPQA the measured gain is a quarter, not three quarters. The errors of `weighted` on
    the source models cannot be used, because the subset was fitted to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import ScoredBy, Source, Subset, Traits, weighted_mean
from service.engine.data.errors import Unsuitable
from service.engine.data.matrix import Scores
from service.engine.numerics import irt
from service.engine.selection.clusters import kmeans, represent


class TinyBenchmarks:
    """IRT anchors.

    Parameters
    ----------
    dimensions : int, default 10
        Dimensions of the ability; at most the number of source models.
    """

    name: ClassVar[str] = "tinybenchmarks"
    estimators: ClassVar[tuple[str, ...]] = ("weighted", "pirt", "gpirt")
    scored_by: ClassVar[ScoredBy] = "scores"
    traits: ClassVar[Traits] = Traits(elaborate=5)

    def __init__(self, dimensions: int = 10) -> None:
        if not isinstance(dimensions, int) or isinstance(dimensions, bool) or not 1 <= dimensions <= 20:
            raise ValueError(f"dimensions must be a whole number from 1 to 20, not {dimensions!r}")
        self.dimensions = dimensions

    def fit(self, source: Source, rng: np.random.Generator) -> FittedTiny:
        """Fit the IRT model.

        Raises
        ------
        Unsuitable
            Fewer than 2 source models, or the fit did not converge.
        """
        if source.n_models < 2:
            raise Unsuitable("an IRT model needs at least 2 source models, but there is 1")
        model = irt.fit(source.scores, self.dimensions)
        if not model.converged:
            raise Unsuitable(f"the IRT model did not converge in {model.iterations} steps")
        return FittedTiny(model, source.scores, _features(model, source.scores), int(rng.integers(1 << 31)))


def _features(model: irt.Irt, scores: Scores) -> NDArray[np.float64]:
    """Item parameters, shape (N, D + 1), exactly equal for examples with the same scores."""
    _, first, place = np.unique(scores, axis=1, return_index=True, return_inverse=True)
    groups = first[place.reshape(-1)]
    return np.column_stack((model.discrimination, model.difficulty))[groups]


@dataclass(frozen=True, slots=True, eq=False)
class FittedTiny:
    """The IRT model, the source scores (S, N) it was fitted to, and the item parameters (N, D + 1)."""

    model: irt.Irt
    scores: Scores
    features: NDArray[np.float64]
    seed: int

    def pick(self, size: int) -> Subset:
        """The example nearest to each cluster's mean, weighted by the cluster's share."""
        labels, distances = kmeans(self.features, size, self.seed)
        return represent(labels, distances, size, self.seed)

    def estimate(self, subset: Subset, answers: NDArray[np.float64], estimator: str) -> NDArray[np.float64]:
        """Full scores, shape (T,), by the named estimator."""
        if estimator == "weighted":
            return weighted_mean(subset, answers)
        predicted = self._predict(subset, answers)
        if estimator == "pirt":
            return predicted
        share = self._weight_of_clustering(subset)
        return share * weighted_mean(subset, answers) + (1 - share) * predicted

    def _predict(self, subset: Subset, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of the answers and, for the other examples, of the predicted probabilities."""
        n = len(self.features)
        chances = self.model.probabilities(self.model.abilities(subset.indices, answers))
        others = chances.sum(axis=1) - chances[:, subset.indices].sum(axis=1)
        return np.asarray((answers.sum(axis=1) + others) / n)

    def _weight_of_clustering(self, subset: Subset) -> float:
        """λ of `gpirt`."""
        scores = self.scores.astype(np.float64)
        n = len(subset.indices)
        errors = self._predict(subset, scores[:, subset.indices]) - scores.mean(axis=1)
        bias = float((errors**2).mean())
        noise = float(scores.var(axis=1).mean()) * (1 / n - 1 / scores.shape[1])
        return bias / (bias + noise) if noise > 0 else 1.0
