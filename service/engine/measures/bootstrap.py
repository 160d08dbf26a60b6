"""Two-way bootstrap of agreement and MDAD: models and trials are drawn again.

Pairs share models, so they are not independent: a resample draws models and trials
with replacement, and a pair weighs the product of its two models' and its trial's
multiplicities. A model drawn twice is not paired with itself. All curves share the
resamples, so their differences have paired intervals.

Source: A. B. Owen, "The pigeonhole bootstrap" (Annals of Applied Statistics 1, 2007), for
models × models × trials. It is conservative: the noise of single pairs counts more
than once, so that intervals come out wide (1.4 to 1.8 times in our simulations) rather
than narrow, where treating pairs as independent makes them several times too narrow.

Even and odd trials are drawn separately and tallied apart: a method chosen on one
half can be reported on the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.measures.mdad import NEVER, first_crossing_bin, isotonic_bin

RESAMPLES = 1000
LEAST_MODELS = 10
"""Fewer models give no interval."""

CELLS = 2_000_000
"""Weights held at once (8 MB of float32)."""

ALL, EVEN, ODD = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Resampled statistics of C curves on all trials and, where asked for, on even and on odd ones.

    Attributes
    ----------
    agreement : ndarray of float64, shape (3 or 1, C, B)
        NaN where a resample holds no pair.
    mdad : ndarray of int64, shape (3 or 1, C, B)
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
    drawn = rng.integers(kinds, size=(kinds, RESAMPLES)) * RESAMPLES + np.arange(RESAMPLES)
    counts = np.bincount(drawn.ravel(), minlength=kinds * RESAMPLES)
    return counts.reshape(kinds, RESAMPLES).astype(np.float32)


def resample(
    bins: NDArray[np.integer],
    credits: NDArray[np.floating],
    rows: tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]],
    drawn: Multiplicities,
    probability: float,
    *,
    paper: bool,
    halves: bool,
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
    halves : bool
        Also on even and on odd trials alone.
    """
    used, place = np.unique(bins, return_inverse=True)
    cell = (rows[2] % 2) * len(used) + place
    order = np.argsort(cell, kind="stable")
    rows = (rows[0][order], rows[1][order], rows[2][order])
    credits = np.ascontiguousarray(credits[order].T)
    ends = np.cumsum(np.bincount(cell, minlength=2 * len(used)))
    step = int(np.clip(CELLS // np.diff(ends, prepend=0).max(), 32, RESAMPLES))
    blocks = []
    for at in range(0, RESAMPLES, step):
        some = Multiplicities(drawn.models[:, at : at + step], drawn.trials[:, at : at + step])
        weight, credit = _tally(credits, rows, ends, some)
        shape = (2, len(used), -1, weight.shape[1])
        weight, credit = weight.reshape(shape), credit.reshape(shape)
        tallies = [(weight.sum(axis=0), credit.sum(axis=0))]
        tallies += zip(weight, credit, strict=True) if halves else ()
        blocks.append(_statistics(tallies, used, probability, paper=paper))
    agreement, mdad = (np.concatenate(column, axis=2) for column in zip(*blocks, strict=True))
    return Resampled(agreement, mdad)


def _tally(
    credits: NDArray[np.floating],
    rows: tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]],
    ends: NDArray[np.integer],
    drawn: Multiplicities,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weight (cells, b) and weighted credit (cells, C, b) of pairs sorted by cell."""
    weight = np.zeros((len(ends), drawn.models.shape[1]))
    credit = np.zeros((len(ends), len(credits), drawn.models.shape[1]))
    start = 0
    for cell, end in enumerate(ends.tolist()):
        if end > start:
            first, second, trial = (row[start:end] for row in rows)
            mass = drawn.models[first]
            mass *= drawn.models[second]
            mass *= drawn.trials[trial]
            weight[cell] = mass.sum(axis=0)
            credit[cell] = credits[:, start:end] @ mass
        start = end
    return weight, credit


def _statistics(
    tallies: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    used: NDArray[np.integer],
    probability: float,
    *,
    paper: bool,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Agreement and MDAD by tally of pairs and agreements, each (tallies, C, b)."""
    rule = first_crossing_bin if paper else isotonic_bin
    shape = (len(tallies), *tallies[0][1].shape[1:])
    agreement, mdad = np.full(shape, np.nan), np.empty(shape, dtype=np.int64)
    for at, (weight, credit) in enumerate(tallies):
        total = weight.sum(axis=0)
        np.divide(credit.sum(axis=0), total, out=agreement[at], where=total > 0)
        found = rule(weight, credit, probability)
        mdad[at] = np.where(found == NEVER, NEVER, used[found])
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
