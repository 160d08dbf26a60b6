"""MDAD between the sizes measured, and the sizes at which it is within a target.

log m is made non-increasing where it must be (a larger subset of the same benchmark cannot order
models worse but by noise), and interpolated, not smoothed: what sampling does to it,
½ log(1/n − 1/N), is taken out first, and the rest is interpolated monotonically in log n.

Source: Fritsch and Carlson, "Monotone piecewise cubic interpolation" (SIAM J. Numer. Anal. 1980);
pool-adjacent-violators (Barlow et al., Statistical Inference under Order Restrictions, 1972).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from service.engine.measures.clustered_errors import Clusters, StandardErrors
from service.engine.measures.local_probit import Floats

Errors = Literal["trials", "models"]
"""Standard errors: of the same experiment with other seeds, or with other models too."""


@dataclass(frozen=True, slots=True, eq=False)
class SizeCurve:
    """log MDAD at the sizes measured, with influences.

    Attributes
    ----------
    sizes : ndarray of int64, shape (S,)
        Ascending, below N.
    log_mdad : ndarray of float64, shape (S,)
    influence : ndarray of float64, shape (S, R, T)
        By trial and target; (S, 1, M) of a formula.
    clusters : Clusters
    n_examples : int
        N, the examples chosen from.
    falls : bool
        Whether the MDAD must not grow with the size.
    """

    sizes: NDArray[np.int64]
    log_mdad: Floats
    influence: Floats
    clusters: Clusters
    n_examples: int
    falls: bool = True

    def errors(self) -> StandardErrors:
        """Standard errors of log MDAD at the sizes measured, each (S,)."""
        return self.clusters.errors(self.influence)

    def at(self, sizes: NDArray[np.integer], errors: float = 0.0, of: Errors = "trials") -> Floats:
        """Log MDAD, plus so many of its standard errors, at any sizes.

        Beyond the sizes measured, only what sampling does to it changes.
        """
        values = self.log_mdad + (errors * getattr(self.errors(), of) if errors else 0.0)
        if self.falls:
            values = _pools(values) @ values
        if len(self.sizes) == 1:
            return self._sampling(sizes) + (values - self._sampling(self.sizes))
        rest = PchipInterpolator(np.log(self.sizes), values - self._sampling(self.sizes))
        inside = np.clip(sizes, self.sizes[0], self.sizes[-1])
        return np.asarray(rest(np.log(inside)) + self._sampling(sizes))

    def influence_at(self, size: float) -> Floats:
        """Influence on log MDAD at a size, (R, T): that of its neighbours, linear in log n."""
        pooled = _pools(self.log_mdad) if self.falls else np.eye(len(self.sizes))
        places = np.interp(np.log(size), np.log(self.sizes), np.arange(len(self.sizes)))
        left = min(int(places), len(self.sizes) - 1)
        right = min(left + 1, len(self.sizes) - 1)
        share = places - left
        weights = (1 - share) * pooled[left] + share * pooled[right]
        return np.tensordot(weights, self.influence, 1)

    def errors_at(self, size: float) -> StandardErrors:
        """Standard errors of log MDAD at one size."""
        return self.clusters.errors(self.influence_at(size))

    def first_within(
        self,
        log_target: float,
        errors: float = 0.0,
        of: Errors = "trials",
        *,
        beyond: int = 0,
        listed: bool = False,
    ) -> int | None:
        """Smallest size whose log MDAD is so many standard errors within a target; None where none is.

        Parameters
        ----------
        beyond : int
            Sizes up to this one, below N, count although they are larger than those measured.
        listed : bool
            Only the sizes measured count.
        """
        sizes = self.sizes
        if not listed:
            last = max(int(sizes[-1]), min(beyond, self.n_examples - 1))
            sizes = np.arange(sizes[0], last + 1)
        within = self.at(sizes, errors, of) <= log_target + 1e-12
        return int(sizes[within.argmax()]) if within.any() else None

    def joined(self, second: SizeCurve) -> SizeCurve:
        """The curve of a first stage joined with a second of other trials; outside its sizes, the first.

        Within them the two log MDADs are averaged by numbers of trials, the first read off
        between its sizes.
        """
        trials = len(self.clusters.models), len(second.clusters.models)
        share = trials[1] / sum(trials)
        outside = [k for k, n in enumerate(self.sizes) if not second.sizes[0] <= n <= second.sizes[-1]]
        nothing = np.zeros_like(second.influence[0])
        influence = [np.concatenate((self.influence[k], nothing)) for k in outside]
        influence += [
            np.concatenate(((1 - share) * self.influence_at(n), share * own))
            for n, own in zip(second.sizes, second.influence, strict=True)
        ]
        both = share * second.log_mdad + (1 - share) * self.at(second.sizes)
        sizes = np.concatenate((self.sizes[outside], second.sizes))
        order = np.argsort(sizes)
        return SizeCurve(
            sizes[order],
            np.concatenate((self.log_mdad[outside], both))[order],
            np.stack(influence)[order],
            self.clusters.joined(second.clusters),
            self.n_examples,
            self.falls,
        )

    def _sampling(self, sizes: NDArray[np.integer]) -> Floats:
        if not self.falls:
            return np.zeros(np.shape(sizes))
        return np.asarray(0.5 * np.log(1 / np.asarray(sizes, dtype=np.float64) - 1 / self.n_examples))


def _pools(values: Floats) -> Floats:
    """The averages that make values non-increasing (pool adjacent violators), shape (S, S)."""
    blocks: list[list[int]] = []
    for at in range(len(values)):
        blocks.append([at])
        while len(blocks) > 1 and values[blocks[-2]].mean() <= values[blocks[-1]].mean():
            last = blocks.pop()
            blocks[-1] += last
    pools: Floats = np.zeros((len(values), len(values)))
    for block in blocks:
        pools[np.ix_(block, block)] = 1 / len(block)
    return pools
