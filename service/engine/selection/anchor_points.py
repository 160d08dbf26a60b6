"""`anchor_points`: the medoids of groups of examples with correlated source results.

The distance is 1 − correlation of the source models' confidences (scores if there are no confidences).
Each medoid is weighted by the share of examples nearest to it (Vivek et al. 2024, "Anchor Points", as
used in arXiv 2510.08730).

Examples on which all source models agree have no correlations. They are chosen only after all others.
Their share goes to the medoid that predicts them best, by mean squared difference over the source
models: examples that all get right go to the easiest medoid, those that all get wrong to the hardest. So
weights sum to 1, the estimate of a perfect model is 1, and estimates are not biased towards the middle,
as they would be without these examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import ScoredBy, Source, Subset, Traits, weighted_mean
from service.engine.data.errors import Unsuitable
from service.engine.numerics.kmedoids import KMedoids

MIN_MODELS = 10
MAX_EXAMPLES = 16_384
"""A float32 distance matrix of this side takes 1 GiB."""

_RESTARTS = 4
_RESTARTS_UP_TO = 1024
"""Above this size only BUILD is used: one descent is as good as the mean of random starts, and takes
seconds."""


class AnchorPoints:
    """k-medoids on the correlations between examples."""

    name: ClassVar[str] = "anchor_points"
    estimators: ClassVar[tuple[str, ...]] = ("weighted",)
    scored_by: ClassVar[ScoredBy] = "confidences"
    traits: ClassVar[Traits] = Traits(elaborate=3)

    def fit(self, source: Source, rng: np.random.Generator) -> FittedAnchors:
        """Correlate the examples that vary.

        Raises
        ------
        Unsuitable
            Fewer than 10 source models, or more varying examples than 16 384.
        """
        if source.n_models < MIN_MODELS:
            raise Unsuitable(
                f"correlations need at least {MIN_MODELS} source models, but there are {source.n_models}"
            )
        values = np.asarray(
            source.scores if source.confidences is None else source.confidences, dtype=np.float32
        )
        varying = np.ptp(values, axis=0) > 0
        if varying.sum() > MAX_EXAMPLES:
            raise Unsuitable(
                f"distances between {varying.sum():,} examples need more memory than this method may use; "
                f"it works with up to {MAX_EXAMPLES:,} examples: hold out more examples or choose another "
                "method"
            )
        medoids = KMedoids(correlation_distances(values[:, varying])) if varying.any() else None
        return FittedAnchors(
            medoids,
            np.flatnonzero(varying),
            rng.permutation(np.flatnonzero(~varying)),
            values,
            int(rng.integers(1 << 31)),
        )


def correlation_distances(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """1 − correlation between columns that vary, shape (N, N), exactly 0 on the diagonal.

    Parameters
    ----------
    values : ndarray of float32, shape (S, N)
        No column constant.

    Notes
    -----
    Of 0/1 values the sums are whole numbers, which no order of adding changes: equal distances are then
    equal on every processor, and ties fall the same way.
    """
    binary = ((values == 0) | (values == 1)).all()
    distances = _of_counts(values) if binary else _of_centred(values)
    np.subtract(1, distances, out=distances)
    np.maximum(distances, 0, out=distances)
    np.fill_diagonal(distances, 0)
    return distances


def _of_counts(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Correlation of 0/1 columns from how many models get both right."""
    models, right = len(values), values.sum(axis=0, dtype=np.float64)
    scale = np.sqrt(right * (models - right))
    found = values.T @ values
    for row, (own, width) in enumerate(zip(right, scale, strict=True)):
        found[row] = (models * found[row].astype(np.float64) - own * right) / (width * scale)
    return np.asarray(found)


def _of_centred(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Correlation of graded columns."""
    centred = values - values.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred /= np.sqrt((centred**2).sum(axis=0, dtype=np.float64)).astype(np.float32)
    return np.asarray(centred.T @ centred)


@dataclass(frozen=True, slots=True, eq=False)
class FittedAnchors:
    """The varying examples with their distances, and the constant ones in random order.

    Attributes
    ----------
    medoids : KMedoids, optional
        Over `varying`; None when nothing varies.
    varying, constant : ndarray of int64
        Columns of the source.
    values : ndarray of float32, shape (S, N)
        The source models' results that were correlated.
    seed : int
        Of the random restarts.
    """

    medoids: KMedoids | None
    varying: NDArray[np.int64]
    constant: NDArray[np.int64]
    values: NDArray[np.float32]
    seed: int

    def pick(self, size: int) -> Subset:
        """The medoids of `size` clusters, or all varying examples and some constant ones."""
        if self.medoids is None or size >= len(self.varying):
            chosen = np.concatenate((self.varying, self.constant[: size - len(self.varying)]))
            share = np.ones(len(chosen))
            left = self.constant[size - len(self.varying) :]
        else:
            restarts = _RESTARTS if len(self.varying) <= _RESTARTS_UP_TO else 0
            clustering = self.medoids.cluster(size, np.random.default_rng(self.seed), restarts=restarts)
            chosen = self.varying[clustering.medoids]
            share = np.bincount(clustering.labels, minlength=size).astype(np.float64)
            left = self.constant
        share += np.bincount(self._nearest_chosen(chosen, left), minlength=size)
        order = np.argsort(chosen)
        return Subset(chosen[order], (share / share.sum())[order])

    def _nearest_chosen(self, chosen: NDArray[np.int64], left: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each example that was not chosen, the position of the chosen one with the smallest squared
        difference.
        """
        level = self.values[0, left].astype(np.float64)
        mean = self.values[:, chosen].mean(axis=0, dtype=np.float64)
        square = (self.values[:, chosen].astype(np.float64) ** 2).mean(axis=0)
        levels, place = np.unique(level, return_inverse=True)
        nearest = (square - 2 * levels[:, None] * mean).argmin(axis=1)
        return np.asarray(nearest[place], dtype=np.int64)

    def estimate(self, subset: Subset, answers: NDArray[np.float64], estimator: str) -> NDArray[np.float64]:
        """Each anchor's answer weighted by its cluster's share, shape (T,)."""
        return weighted_mean(subset, answers)
