"""Exact agreement of stratified draws: the strata's distributions of x − y, convolved.

The estimated difference is Σ_k w_k (x_k − y_k) with w_k = N_k / (N n_k), where x_k
and y_k of the n_k examples drawn from stratum k are right for one model only. Its
distribution lives on the lattice the w_k span; the convolution is a product of
Fourier transforms on that lattice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.engine.agreement import BATCH, Outcome, log_factorials

FINEST = 4096
"""Most lattice steps to either side; weights that span a finer lattice are rounded to it."""


class Lattice(NamedTuple):
    """Integer weights of the strata.

    Attributes
    ----------
    weights : ndarray of int64, shape (K,)
        Lattice steps that one example more in a model's favour is worth.
    reach : int
        Steps to either side of zero that matter.
    exact : bool
        Whether the weights are in the true proportions.
    """

    weights: NDArray[np.int64]
    reach: int
    exact: bool


def lattice(strata_sizes: NDArray[np.integer], draws: NDArray[np.integer]) -> Lattice:
    """The lattice of Σ_k N_k / n_k · z_k, rounded to `FINEST` steps where it is finer."""
    common = math.lcm(*draws.tolist())
    steps = [int(n) * common // int(k) for n, k in zip(strata_sizes, draws, strict=True)]
    divisor = math.gcd(*steps)
    reach = sum(step // divisor * int(k) for step, k in zip(steps, draws, strict=True))
    if reach <= FINEST:
        return Lattice(np.array([step // divisor for step in steps]), reach, exact=True)
    weights = strata_sizes / draws / strata_sizes.sum() * FINEST
    rounded = np.maximum(np.round(weights), 1).astype(np.int64)
    return Lattice(rounded, int(rounded @ draws), exact=False)


def strata_agreement(
    strata_sizes: NDArray[np.integer],
    draws: NDArray[np.integer],
    better: NDArray[np.integer],
    worse: NDArray[np.integer],
    *,
    batch: int = BATCH,
) -> Outcome:
    """Outcome of stratified draws estimated by the stratum-size weighted mean.

    Exact where `lattice` is; else each weight is off by at most half a lattice
    step, which moves an agreement by some 0.002.

    Parameters
    ----------
    strata_sizes, draws : ndarray of int, shape (K,)
        N_k and n_k, 1 ≤ n_k ≤ N_k.
    better, worse : ndarray of int, shape (P, K)
        b_k and c_k: examples of stratum k only the better, only the worse model
        (on the whole benchmark) gets right.
    batch : int
        Most table cells held at once; bounds memory, changes no number.

    Returns
    -------
    Outcome
        With S = 1.
    """
    grid = lattice(strata_sizes, draws)
    step = max(1, batch // (4 * (grid.reach + 1)))
    blocks = [
        _block(strata_sizes, draws, better[at : at + step], worse[at : at + step], grid)
        for at in range(0, len(better), step)
    ]
    return Outcome(*(np.concatenate(column)[:, None] for column in zip(*blocks, strict=True)))


def _block(
    strata_sizes: NDArray[np.integer],
    draws: NDArray[np.integer],
    better: NDArray[np.integer],
    worse: NDArray[np.integer],
    grid: Lattice,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    length = 2 * grid.reach + 1
    transform = np.ones((len(better), grid.reach + 1), dtype=np.complex128)
    for k, (n_examples, drawn) in enumerate(zip(strata_sizes.tolist(), draws.tolist(), strict=True)):
        pairs = np.stack((better[:, k], worse[:, k]), axis=1)
        unique, where = np.unique(pairs, axis=0, return_inverse=True)
        lead = lead_distribution(n_examples, drawn, unique[:, 0], unique[:, 1])
        placed = np.zeros((len(unique), length))
        placed[:, np.arange(-drawn, drawn + 1) * grid.weights[k] % length] = lead
        transform *= np.fft.rfft(placed, axis=1)[where.ravel()]
    chance = np.fft.irfft(transform, length, axis=1)
    return np.clip(chance[:, 1 : grid.reach + 1].sum(axis=1), 0, 1), np.clip(chance[:, 0], 0, 1)


def lead_distribution(
    n_examples: int, drawn: int, better: NDArray[np.integer], worse: NDArray[np.integer]
) -> NDArray[np.float64]:
    """P(x − y = z) for z = −n … n when n of N examples are drawn, shape (P, 2n + 1).

    Multivariate hypergeometric: C(b, x) C(c, y) C(N − b − c, n − x − y) / C(N, n), summed over y.
    """
    lf = log_factorials(n_examples)
    b, c = better[:, None], worse[:, None]
    rest = n_examples - b - c
    z = np.arange(-drawn, drawn + 1)
    total = np.zeros((len(better), len(z)))
    for y in range(min(drawn, int(worse.max())) + 1):
        x, neither = z + y, drawn - z - 2 * y
        possible = (x >= 0) & (x <= b) & (y <= c) & (neither >= 0) & (neither <= rest)
        x, neither = np.where(possible, x, 0), np.where(possible, neither, 0)
        safe_y = np.minimum(y, c)
        logs = (lf[b] - lf[x] - lf[b - x]) + (lf[c] - lf[safe_y] - lf[c - safe_y])
        logs = logs + (lf[rest] - lf[neither] - lf[rest - neither])
        logs -= lf[n_examples] - lf[drawn] - lf[n_examples - drawn]
        total += np.exp(logs, where=possible, out=np.zeros(possible.shape))
    return total
