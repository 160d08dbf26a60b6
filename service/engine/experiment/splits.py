"""Who and what a trial uses: targets, sources, selection and held-out examples.

Every stream of random numbers is named by seed, trial and purpose, so a number
depends neither on the other methods asked for nor on how trials are cut into parts.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.data.allocation import largest_remainder
from service.engine.data.matrix import Matrix
from service.engine.planning.plan import Plan


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One trial's division of models and examples, as indices into the matrix.

    Attributes
    ----------
    targets : ndarray of int64, shape (T,)
        Ascending.
    sources : ndarray of int64, shape (S,)
        Disjoint from the targets, in the order drawn: fewer sources are its first ones.
    selection, heldout : ndarray of int64
        Examples a subset is chosen from, and the others; ascending.
    """

    targets: NDArray[np.int64]
    sources: NDArray[np.int64]
    selection: NDArray[np.int64]
    heldout: NDArray[np.int64]


def generator(seed: int, trial: int, *purpose: str) -> np.random.Generator:
    """The stream of random numbers for one purpose in one trial."""
    digest = hashlib.sha256("\0".join(purpose).encode()).digest()
    key = int.from_bytes(digest[:8], "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, trial, key])))


class Splitter:
    """Draws the split of any trial of a plan."""

    def __init__(self, plan: Plan, matrix: Matrix) -> None:
        self._plan = plan
        self._fixed_sources = positions(matrix.models, plan.models.source_ids)
        self._fixed_targets = positions(matrix.models, plan.models.target_ids or plan.group)
        taken = np.concatenate((self._fixed_sources, self._fixed_targets))
        self._free = np.setdiff1d(np.arange(len(matrix.models)), taken)
        sizes = np.bincount(matrix.strata)
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        self._strata = matrix.strata
        self._rank = np.arange(len(matrix.examples)) - starts
        self._held = np.repeat(heldout_counts(matrix.strata, plan.heldout), sizes)

    def draw(self, trial: int) -> Split:
        """Draw models, and divide each subtask's examples."""
        rng = generator(self._plan.seed, trial, "split")
        out = self._heldout(rng)
        free = rng.permutation(self._free)
        drawn = self._plan.models.targets - len(self._fixed_targets)
        targets = np.sort(np.concatenate((self._fixed_targets, free[:drawn])))
        sources = self._fixed_sources if len(self._fixed_sources) else free[drawn:]
        most = max(self._plan.models.sources, default=0)
        return Split(targets, sources[:most], np.flatnonzero(~out), np.flatnonzero(out))

    def _heldout(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Which examples are held out, shape (N,): drawn uniformly within each subtask."""
        order = rng.permutation(len(self._strata))
        mask = np.zeros(len(order), dtype=bool)
        by_stratum = order[np.argsort(self._strata[order], kind="stable")]
        mask[by_stratum] = self._rank < self._held
        return mask


def heldout_counts(strata: NDArray[np.int32], heldout: int) -> NDArray[np.int64]:
    """Held-out examples of each subtask, shape (K,): proportional, the same in every trial."""
    sizes = np.bincount(strata)
    if not heldout:
        return np.zeros(len(sizes), dtype=np.int64)
    return largest_remainder(heldout, sizes, sizes, np.random.default_rng(0))


def positions(models: tuple[str, ...], ids: tuple[str, ...]) -> NDArray[np.int64]:
    """Rows of these ids."""
    row = {model: at for at, model in enumerate(models)}
    return np.array([row[name] for name in ids], dtype=np.int64)
