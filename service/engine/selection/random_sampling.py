"""`random`: examples drawn uniformly without replacement, estimated by their mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import ScoredBy, Source, Subset, Traits, weighted_mean


class RandomSampling:
    """Uniform sampling; larger subsets of one fit contain the smaller ones."""

    name: ClassVar[str] = "random"
    estimators: ClassVar[tuple[str, ...]] = ("mean",)
    scored_by: ClassVar[ScoredBy] = "scores"
    traits: ClassVar[Traits] = Traits(elaborate=0, sample="simple")

    def fit(self, source: Source, rng: np.random.Generator) -> FittedRandom:
        """Draw one order of the examples; the source models are not used."""
        return FittedRandom(rng.permutation(source.n_examples))


@dataclass(frozen=True, slots=True, eq=False)
class FittedRandom:
    """One random order of the examples, shape (N,)."""

    order: NDArray[np.int64]

    def pick(self, size: int) -> Subset:
        """The first `size` of the order, equally weighted."""
        return Subset(np.sort(self.order[:size]), np.full(size, 1 / size))

    def estimate(self, subset: Subset, answers: NDArray[np.float64], estimator: str) -> NDArray[np.float64]:
        """The mean answer, shape (T,)."""
        return weighted_mean(subset, answers)
