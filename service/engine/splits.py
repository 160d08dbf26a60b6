"""Who and what a trial uses: targets, sources, selection and held-out examples.

Every stream of random numbers is named by seed, trial and purpose, so a number
depends neither on the other methods asked for nor on how trials are cut into parts.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.allocation import largest_remainder
from service.engine.matrix import Matrix
from service.engine.plan import Plan


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
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.default_rng(np.random.SeedSequence([seed, trial], spawn_key=words))


def draw(plan: Plan, matrix: Matrix, trial: int) -> Split:
    """The split of one trial: models drawn, each subtask's examples divided."""
    targets, sources = _draw_models(plan, matrix.models, generator(plan.seed, trial, "models"))
    out = heldout_mask(matrix.strata, plan.heldout, generator(plan.seed, trial, "examples"))
    return Split(targets, sources, np.flatnonzero(~out), np.flatnonzero(out))


def heldout_counts(strata: NDArray[np.int32], heldout: int) -> NDArray[np.int64]:
    """Held-out examples of each subtask, shape (K,): proportional, the same in every trial."""
    sizes = np.bincount(strata)
    if not heldout:
        return np.zeros(len(sizes), dtype=np.int64)
    return largest_remainder(heldout, sizes, sizes, np.random.default_rng(0))


def heldout_mask(strata: NDArray[np.int32], heldout: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which examples are held out, shape (N,): drawn uniformly within each subtask."""
    order = rng.permutation(len(strata))
    by_stratum = order[np.argsort(strata[order], kind="stable")]
    sizes = np.bincount(strata)
    rank = np.arange(len(strata)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    mask = np.zeros(len(strata), dtype=bool)
    mask[by_stratum] = rank < np.repeat(heldout_counts(strata, heldout), sizes)
    return mask


def _draw_models(
    plan: Plan, models: tuple[str, ...], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = rng.permutation(len(models))
    fixed_sources = positions(models, plan.models.source_ids)
    targets = positions(models, plan.models.target_ids or plan.group)
    free = order[~np.isin(order, np.concatenate((fixed_sources, targets)))]
    drawn = plan.models.targets - len(targets)
    targets = np.sort(np.concatenate((targets, free[:drawn])))
    sources = fixed_sources if len(fixed_sources) else free[drawn:]
    return targets, sources[: max(plan.models.sources, default=0)]


def positions(models: tuple[str, ...], ids: tuple[str, ...]) -> NDArray[np.int64]:
    """Rows of these ids."""
    row = {model: at for at, model in enumerate(models)}
    return np.array([row[name] for name in ids], dtype=np.int64)
