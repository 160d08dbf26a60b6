"""Pairs of models: which are compared, their true difference, and its bin.

Bins of the true difference have width 0.005 and are found by integer arithmetic
where scores are 0/1: floor(200 · 0.145) is 28 in floating point, not 29.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS_PER_UNIT = 200
BIN_WIDTH = 1 / BINS_PER_UNIT
N_BINS = BINS_PER_UNIT + 1
EQUAL = 1e-12
"""Differences this small count as 0."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelPairs:
    """Pairs of columns 0 … T − 1 in each of R trials, trial by trial.

    Attributes
    ----------
    trial, first, second : ndarray of int32, shape (P,)
        first < second.
    possible : int
        Number of possible pairs; more than P if the pairs are a sample.
    """

    trial: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    possible: int

    @property
    def sampled(self) -> bool:
        """Whether the pairs are a sample of the possible pairs."""
        return len(self.first) < self.possible


def choose_pairs(n_models: int, trials: int, most: int, rng: np.random.Generator) -> ModelPairs:
    """All pairs of every trial, or an equally large uniform sample of each if there are too many.

    Parameters
    ----------
    n_models : int
        T, number of models compared in a trial.
    most : int
        Maximum number of pairs over all trials.
    """
    possible = n_models * (n_models - 1) // 2
    each = min(possible, max(1, most // trials))
    if each == possible:
        codes = np.tile(np.arange(possible), trials)
    else:
        codes = np.concatenate([_sample(possible, each, rng) for _ in range(trials)])
    first, second = unrank(codes, n_models)
    trial = np.repeat(np.arange(trials, dtype=np.int32), each)
    return ModelPairs(trial, first.astype(np.int32), second.astype(np.int32), possible * trials)


def _sample(possible: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.sort(rng.choice(possible, size, replace=False, shuffle=False))


def unrank(codes: NDArray[np.int64], n_models: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs at these positions of the upper triangle, row by row."""
    width = 2 * n_models - 1
    first = ((width - np.sqrt(width**2 - 8.0 * codes)) / 2).astype(np.int64)
    first -= first * (width - first) // 2 > codes
    first += (first + 1) * (width - first - 1) // 2 <= codes
    return first, codes - first * (width - first) // 2 + first + 1


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """The true difference of each pair.

    Attributes
    ----------
    sign : ndarray of int8, shape (P,)
        Which of the two is better; 0 if they are equal.
    bin : ndarray of int16, shape (P,)
        floor(200 |Δ|).
    largest : float
        Largest |Δ|.
    """

    sign: NDArray[np.int8]
    bin: NDArray[np.int16]
    largest: float

    @classmethod
    def of(cls, difference: NDArray[np.float64], n_examples: int, *, counts: bool) -> Truth:
        """From differences of score sums over N examples, which are whole numbers if `counts`."""
        gap = np.abs(difference)
        if counts:
            bins = BINS_PER_UNIT * gap.astype(np.int64) // n_examples
        else:
            gap = np.where(gap <= EQUAL * n_examples, 0, gap)
            bins = np.floor(BINS_PER_UNIT * gap / n_examples + 1e-9)
        sign = np.where(gap > 0, np.sign(difference), 0).astype(np.int8)
        return cls(sign, bins.astype(np.int16), float(gap.max(initial=0)) / n_examples)


def signs(difference: NDArray[np.float64]) -> NDArray[np.int8]:
    """Signs of differences between estimates: −1, 0 (a tie within 1e-12) or 1."""
    return (difference > EQUAL).astype(np.int8) - (difference < -EQUAL)


def discordant(
    scores: NDArray[np.uint8], first: NDArray[np.integer], second: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of examples that only the better and only the worse model of each pair gets right, each (P,).

    Parameters
    ----------
    scores : ndarray of uint8, shape (M, N)
        0/1.
    first, second : ndarray of int, shape (P,)
        Rows.
    """
    packed = np.packbits(np.ascontiguousarray(scores), axis=1)
    packed = np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))).view(np.uint64)
    differing = np.empty(len(first), dtype=np.int64)
    step = max(1, 4_000_000 // packed.shape[1])
    for at in range(0, len(first), step):
        block = slice(at, at + step)
        apart = packed[first[block]] ^ packed[second[block]]
        differing[block] = np.bitwise_count(apart).sum(axis=1, dtype=np.int64)
    right = scores.sum(axis=1, dtype=np.int64)
    gap = np.abs(right[first] - right[second])
    return (differing + gap) // 2, (differing - gap) // 2
