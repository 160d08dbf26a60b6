"""Who and what a trial uses: targets, sources, selection and held-out examples.

Every stream of random numbers is named by seed, trial and purpose, so a number
depends neither on the other methods asked for nor on how trials are cut into parts.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.engine.data.allocation import largest_remainder
from service.engine.data.matrix import Matrix
from service.engine.experiment.target_pools import LEAST_SOURCES, pools
from service.engine.planning.plan import Plan
from service.engine.planning.target_settings import OWN
from service.engine.prediction.near_copies import copy_groups

MOST_COMPARED = 2_000
"""Models beyond which near copies are not looked for."""


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
        self._matrix = matrix

    def draw(self, trial: int) -> Split:
        """Draw models, and divide each subtask's examples.

        Near copies of targets are no sources, but where the paper's protocol or the request
        says who is.
        """
        rng = generator(self._plan.seed, trial, "split")
        out = self._heldout(rng)
        targets, sources = self._models(trial, rng)
        most = max(self._plan.models.sources, default=0)
        if self._plan.purpose is not None and not len(self._fixed_sources):
            sources = self._without_copies(targets, sources)
        return Split(targets, sources[:most], np.flatnonzero(~out), np.flatnonzero(out))

    def _models(self, trial: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Targets, ascending, and sources in the order drawn."""
        count = self._plan.models.targets
        if self._plan.setting != OWN:
            rng = generator(self._plan.seed, trial, "target setting", self._plan.setting)
            drawn = pools(self._plan, self._matrix, rng)
            return np.sort(rng.permutation(drawn.targets)[:count]), rng.permutation(drawn.sources)
        free = rng.permutation(self._free)
        left = count - len(self._fixed_targets)
        targets = np.sort(np.concatenate((self._fixed_targets, free[:left])))
        return targets, self._fixed_sources if len(self._fixed_sources) else free[left:]

    def _without_copies(self, targets: NDArray[np.int64], sources: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sources that are no near copies of a target; those too where hardly any other is left."""
        copied = np.isin(self._groups[sources], self._groups[targets])
        if (~copied).sum() >= LEAST_SOURCES:
            return sources[~copied]
        return np.concatenate((sources[~copied], sources[copied]))

    @cached_property
    def _groups(self) -> NDArray[np.int64]:
        """Group of near copies that each model is of."""
        models = len(self._matrix.models)
        if models > MOST_COMPARED or not self._plan.models.sources:
            return np.arange(models)
        return copy_groups(self._matrix.scores.astype(np.float64))

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
