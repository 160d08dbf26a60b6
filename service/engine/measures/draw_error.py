"""How far a score estimated from a draw is from the full score, without simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from service.engine.measures.random_agreement import log_factorials

GRID = 2000
"""Steps at which the quantile of a mixture of normal errors is looked up."""


@dataclass(frozen=True, slots=True)
class DrawError:
    """Mean and 90th percentile of the absolute error of an estimated score, fractions."""

    mean: float
    p90: float


@dataclass(frozen=True, slots=True)
class NormalDrawError(DrawError):
    """The same, with errors taken as normal."""

    approximation: str = "normal"


def random_error(n_examples: int, right: NDArray[np.integer], size: int) -> DrawError:
    """Mean and 90th percentile of |x/n − k/N| over models and uniform draws.

    Parameters
    ----------
    right : ndarray of int, shape (M,)
        k, examples each model gets right; x is hypergeometric(N, k, n).
    """
    k, models = np.unique(right, return_counts=True)
    k, x = k[:, None], np.arange(size + 1)
    possible = (x <= k) & (size - x <= n_examples - k)
    lf = log_factorials(n_examples)
    hit, miss = np.where(possible, x, 0), np.where(possible, size - x, 0)
    logs = lf[k] - lf[hit] - lf[k - hit]
    logs = logs + lf[n_examples - k] - lf[miss] - lf[n_examples - k - miss]
    logs -= lf[n_examples] - lf[size] - lf[n_examples - size]
    chance = np.exp(logs, where=possible, out=np.zeros(possible.shape))
    chance *= models[:, None] / len(right)
    matter = chance > 1e-15
    chance, error = chance[matter], np.abs(x / size - k / n_examples)[matter]
    order = np.argsort(error)
    below = np.cumsum(chance[order])
    p90 = error[order][min(int(np.searchsorted(below, 0.9 - 1e-12)), len(below) - 1)]
    return DrawError(float(chance @ error), float(p90))


def normal_error(spread: NDArray[np.float64]) -> DrawError:
    """The same for normal errors with these standard deviations, shape (M,)."""
    if not spread.any():
        return DrawError(0.0, 0.0)
    grid = np.linspace(0, 4 * spread.max(), GRID)
    scaled = np.divide(
        grid, spread[:, None], out=np.full((len(spread), GRID), np.inf), where=spread[:, None] > 0
    )
    within = (2 * ndtr(scaled) - 1).mean(axis=0)
    return NormalDrawError(
        float(spread.mean() * np.sqrt(2 / np.pi)), float(grid[np.searchsorted(within, 0.9)])
    )


def stratified_spread(
    scores: NDArray[np.generic], pool: NDArray[np.integer], draws: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Standard deviation of each model's stratified estimate, shape (M,).

    Parameters
    ----------
    scores : ndarray, shape (M, N)
    pool : ndarray of int, shape (N,)
        Stratum of each example.
    draws : ndarray of int, shape (K,)
    """
    total = np.zeros(len(scores))
    for k, n in enumerate(draws.tolist()):
        here = scores[:, pool == k].astype(np.float64)
        size = here.shape[1]
        if size > 1:
            share = size / len(pool)
            total += share**2 * here.var(axis=1, ddof=1) / n * (1 - n / size)
    spread: NDArray[np.float64] = np.sqrt(total)
    return spread
