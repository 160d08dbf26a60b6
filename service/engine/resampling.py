"""Two-way bootstrap of agreement and MDAD: models and trials are drawn again.

Pairs share models, so they are not independent: a resample draws models and trials
with replacement, and a pair weighs the product of its two models' and its trial's
multiplicities. A model drawn twice is not paired with itself. All curves share the
resamples, so their differences have paired intervals.

Even and odd trials are drawn separately and tallied apart: a method chosen on one
half can be reported on the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.mdad import first_crossing_bin, isotonic_bin

RESAMPLES = 1000
LEAST_MODELS = 10
"""Fewer models give no interval."""

CELLS = 2_000_000
"""Weights held at once (8 MB of float32)."""

ALL, EVEN, ODD = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Resampled statistics of C curves, on all, on even and on odd trials.

    Attributes
    ----------
    agreement : ndarray of float64, shape (3, C, B)
        NaN where a resample holds no pair.
    mdad : ndarray of int64, shape (3, C, B)
        Bin, or NEVER.
    """

    agreement: NDArray[np.float64]
    mdad: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Multiplicities:
    """How often each resample holds each model, (M, B), and each trial, (R, B); float32."""

    models: NDArray[np.float32]
    trials: NDArray[np.float32]

    @classmethod
    def draw(cls, n_models: int, trials: int, rng: np.random.Generator) -> Multiplicities:
        """Draw models with replacement, and trials with replacement within each half."""
        models = _multinomial(n_models, rng)
        drawn = np.empty((trials, RESAMPLES), dtype=np.float32)
        for half in (0, 1):
            if trials > half:
                drawn[half::2] = _multinomial(len(range(half, trials, 2)), rng)
        return cls(models, drawn)


def _multinomial(kinds: int, rng: np.random.Generator) -> NDArray[np.float32]:
    drawn = rng.multinomial(kinds, np.full(kinds, 1 / kinds), size=RESAMPLES)
    return np.ascontiguousarray(drawn.T, dtype=np.float32)


def resample(
    bins: NDArray[np.integer],
    credits: NDArray[np.floating],
    rows: tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]],
    drawn: Multiplicities,
    probability: float,
    *,
    paper: bool,
) -> Resampled:
    """Agreement and MDAD of every curve in every resample.

    Parameters
    ----------
    bins : ndarray of int, shape (P,)
        Bin of each pair's true difference; equal pairs are left out.
    credits : ndarray, shape (P, C)
        1 for an agreement, 0 for none, between for a tie or a probability. Multiples
        of a power of two, so that sums are exact in any order and on any machine.
    rows : three ndarrays of int, shape (P,)
        First model, second model and trial of each pair, rows of `drawn`.
    paper : bool
        Use the paper's rule for the MDAD.
    """
    order = np.lexsort((bins, rows[2] % 2))
    first, second, trial = (row[order] for row in rows)
    keys = (trial % 2) * 1000 + bins[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1)).tolist()
    segments = list(zip(starts, [*starts[1:], len(keys)], strict=True))
    sorted_credits = np.ascontiguousarray(credits[order].T)
    used, slot = np.unique(bins[order][starts], return_inverse=True)
    widest = max((stop - start for start, stop in segments), default=1)
    step = int(np.clip(CELLS // widest, 32, RESAMPLES))
    parts = []
    for at in range(0, RESAMPLES, step):
        block = slice(at, at + step)
        models, trials = drawn.models[:, block], drawn.trials[:, block]
        weight = np.zeros((2, len(used), 1, models.shape[1]))
        credit = np.zeros((2, len(used), len(sorted_credits), models.shape[1]))
        for (start, stop), place in zip(segments, slot.tolist(), strict=True):
            here = slice(start, stop)
            mass = models[first[here]]
            mass *= models[second[here]]
            mass *= trials[trial[here]]
            half = int(trial[start]) % 2
            weight[half, place] = mass.sum(axis=0)
            credit[half, place] = sorted_credits[:, here] @ mass
        parts.append(_statistics(weight, credit, used, probability, paper=paper))
    agreement, mdad = (np.concatenate(column, axis=2) for column in zip(*parts, strict=True))
    return Resampled(agreement, mdad)


def _statistics(
    weight: NDArray[np.float64],
    credit: NDArray[np.float64],
    used: NDArray[np.integer],
    probability: float,
    *,
    paper: bool,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Agreement and MDAD on all, even and odd trials, each (3, C, b)."""
    rule = first_crossing_bin if paper else isotonic_bin
    agreement = np.full((3, *credit.shape[2:]), np.nan)
    mdad = np.full((3, *credit.shape[2:]), -1, dtype=np.int64)
    for at, (w, c) in enumerate(
        ((weight.sum(axis=0), credit.sum(axis=0)), *zip(weight, credit, strict=True))
    ):
        total = w.sum(axis=0)
        np.divide(c.sum(axis=0), total, out=agreement[at], where=total > 0)
        place = rule(w, c, probability)
        mdad[at] = np.where(place >= 0, used[place], place)
    return agreement, mdad


def interval(values: NDArray[np.float64], point: float, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval that holds its point estimate; infinite ends stay infinite.

    Parameters
    ----------
    values : ndarray, shape (B,)
        Resampled statistic; +inf where an MDAD is not reached, NaN ones are left out.
    """
    known = np.sort(values[~np.isnan(values)])
    tail = int(np.floor(len(known) * (1 - level) / 2))
    return min(float(known[tail]), point), max(float(known[-1 - tail]), point)
