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
from scipy.fft import irfft, next_fast_len, rfft

from service.engine.measures.random_agreement import BATCH, OrderProbabilities, log_factorials


class Lattice(NamedTuple):
    """The values Σ_k N_k / n_k · z_k can take.

    Attributes
    ----------
    weights : tuple of int, length K
        Lattice steps that one example more in a model's favour is worth.
    reach : int
        Steps to either side of zero.
    """

    weights: tuple[int, ...]
    reach: int


def lattice(strata_sizes: NDArray[np.integer], draws: NDArray[np.integer]) -> Lattice:
    """The coarsest lattice that holds every estimated difference."""
    common = math.lcm(*draws.tolist())
    steps = [int(n) * common // int(k) for n, k in zip(strata_sizes, draws, strict=True)]
    divisor = math.gcd(*steps)
    weights = tuple(step // divisor for step in steps)
    return Lattice(weights, sum(w * int(k) for w, k in zip(weights, draws, strict=True)))


def strata_agreement(
    strata_sizes: NDArray[np.integer],
    draws: NDArray[np.integer],
    better: NDArray[np.integer],
    worse: NDArray[np.integer],
    *,
    batch: int = BATCH,
) -> OrderProbabilities:
    """Exact outcome of stratified draws estimated by the stratum-size weighted mean.

    Time and memory grow with pairs × strata × the lattice's reach.

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
    OrderProbabilities
        With S = 1.
    """
    grid = lattice(strata_sizes, draws)
    length = next_fast_len(2 * grid.reach + 1, real=True)
    step = max(1, batch // length)
    blocks = [
        _block(strata_sizes, draws, better[at : at + step], worse[at : at + step], grid, length)
        for at in range(0, len(better), step)
    ]
    return OrderProbabilities(*(np.concatenate(column)[:, None] for column in zip(*blocks, strict=True)))


def _block(
    strata_sizes: NDArray[np.integer],
    draws: NDArray[np.integer],
    better: NDArray[np.integer],
    worse: NDArray[np.integer],
    grid: Lattice,
    length: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    transform = np.ones((len(better), length // 2 + 1), dtype=np.complex128)
    for k, (n_examples, drawn) in enumerate(zip(strata_sizes.tolist(), draws.tolist(), strict=True)):
        codes, where = np.unique(better[:, k] * (n_examples + 1) + worse[:, k], return_inverse=True)
        lead = lead_distribution(n_examples, drawn, *np.divmod(codes, n_examples + 1))
        placed = np.zeros((len(codes), length))
        placed[:, np.arange(-drawn, drawn + 1) * grid.weights[k]] = lead
        transform *= rfft(placed, axis=1)[where]
    chance = irfft(transform, length, axis=1)
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
