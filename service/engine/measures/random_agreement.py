"""How often random draws order two models as the full benchmark does, without simulation.

A pair is described by b, the examples only the better model gets right, and c,
those only the other does; D = b + c examples are discordant. Drawing n of N
examples without replacement draws d discordant ones, hypergeometric(N, D, n),
and of those x in the better model's favour, hypergeometric(D, b, d):

    P(agree) = Σ_d P(d) P(x > d/2 | d),   P(tie) = Σ_{d even} P(d) P(x = d/2 | d).

P(x > d/2 | d) needs no inner sum: drawing one discordant example more moves it
by the probability that this example makes or breaks the lead.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr

BATCH = 500_000
"""Cells of a table held at once by default: 4 MB of float64, which a core's cache holds."""


MOST_KEPT = 200_000
"""Largest benchmark whose log factorials are kept for the next question."""


class OrderProbabilities(NamedTuple):
    """Probabilities that a draw orders a pair rightly, or leaves it tied.

    Attributes
    ----------
    agree, tie : ndarray of float64, shape (P, S)
        By pair and size; the rest is the probability of the wrong order.
    """

    agree: NDArray[np.float64]
    tie: NDArray[np.float64]

    @property
    def half_credit(self) -> NDArray[np.float64]:
        """P(agree) + P(tie) / 2, shape (P, S)."""
        return np.asarray(self.agree + self.tie / 2)


def random_agreement(
    n_examples: int,
    better: NDArray[np.integer],
    worse: NDArray[np.integer],
    sizes: NDArray[np.integer],
    *,
    batch: int = BATCH,
) -> OrderProbabilities:
    """Exact outcome of uniform draws without replacement.

    Parameters
    ----------
    n_examples : int
        N, the whole from which examples are drawn.
    better, worse : ndarray of int, shape (P,)
        b and c of each pair: examples only the better, only the worse model gets right.
    sizes : ndarray of int, shape (S,)
        n, each from 1 to N.
    batch : int
        Most table cells held at once; bounds memory, changes no number.

    Returns
    -------
    OrderProbabilities
        Exact to 1e-12, as sums over scipy.stats.hypergeom show.
    """
    codes, where = np.unique((better + worse) * (n_examples + 1) + better, return_inverse=True)
    discordant, better = np.divmod(codes, n_examples + 1)
    agree, tie = np.empty((2, len(codes), len(sizes)))
    step = max(1, batch // (int(sizes.max()) + 1))
    for at in range(0, len(codes), step):
        block = slice(at, at + step)
        counts, which = np.unique(discordant[block], return_inverse=True)
        windows = [_window(n_examples, counts, n) for n in sizes.tolist()]
        lead, level = _urn(discordant[block], better[block], max(last for _, last in windows))
        for place, (n, (first, last)) in enumerate(zip(sizes.tolist(), windows, strict=True)):
            chance = _discordant_drawn(n_examples, counts, n, np.arange(first, last + 1))[which]
            agree[block, place] = np.einsum("pd,pd->p", lead[:, first : last + 1], chance)
            even = slice(first % 2, None, 2)
            ties = level[:, (first + 1) // 2 : last // 2 + 1]
            tie[block, place] = np.einsum("pk,pk->p", ties, chance[:, even])
    return OrderProbabilities(agree[where], tie[where])


def _window(n_examples: int, discordant: NDArray[np.integer], size: int) -> tuple[int, int]:
    """The numbers of discordant examples a draw holds, but for a chance below e^−40 (Bernstein)."""
    low, high = int(discordant.min()), int(discordant.max())
    most_mixed = min(max(low, n_examples / 2), high) / n_examples
    variance = size * most_mixed * (1 - most_mixed)
    reach = 40 / 3 + ((40 / 3) ** 2 + 80 * variance) ** 0.5
    first = max(0, size - (n_examples - low), math.floor(size * low / n_examples - reach))
    last = min(size, high, math.ceil(size * high / n_examples + reach))
    return first, last


def normal_agreement(
    scores: NDArray[np.generic],
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    sizes: NDArray[np.integer],
) -> OrderProbabilities:
    """Agreement of uniform draws on graded scores: normal, with the finite-population correction.

    Φ(Δ / sqrt(S² / n · (N − n) / N)) with S² the variance of the per-example
    differences; within 0.006 of half credit at n = 25 on 0/1 scores that disagree
    on a fifth of the examples or more.

    Parameters
    ----------
    scores : ndarray, shape (M, N)
    first, second : ndarray of int, shape (P,)
        Rows.
    sizes : ndarray of int, shape (S,)

    Returns
    -------
    OrderProbabilities
        Ties are taken to have no probability.
    """
    n_examples = scores.shape[1]
    mean, variance = np.empty((2, len(first)))
    step = max(1, BATCH // n_examples)
    for at in range(0, len(mean), step):
        block = slice(at, at + step)
        apart = scores[first[block]].astype(np.float64) - scores[second[block]]
        mean[block] = np.abs(apart.mean(axis=1))
        variance[block] = apart.var(axis=1) * n_examples / max(n_examples - 1, 1)
    error = np.sqrt(variance[:, None] * (1 / sizes - 1 / n_examples))
    scaled = np.divide(mean[:, None], error, out=np.full(error.shape, np.inf), where=error > 0)
    return OrderProbabilities(ndtr(scaled), np.zeros(error.shape))


def _discordant_drawn(
    n_examples: int, discordant: NDArray[np.integer], size: int, drawn: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Hypergeometric P(d) for each D and each d of `drawn`, shape (D, d)."""
    discordant = discordant[:, None]
    rest = n_examples - discordant
    possible = (drawn <= discordant) & (size - drawn <= rest)
    hit, miss = np.where(possible, drawn, 0), np.where(possible, size - drawn, 0)
    lf = _log_factorial if n_examples > MOST_KEPT else log_factorials(n_examples).__getitem__
    logs = lf(discordant) - lf(hit) - lf(discordant - hit) + lf(rest) - lf(miss) - lf(rest - miss)
    logs -= lf(n_examples) - lf(size) - lf(n_examples - size)
    chance: NDArray[np.float64] = np.zeros(possible.shape)
    np.exp(logs, where=possible, out=chance)
    return chance


def _urn(
    discordant: NDArray[np.integer], better: NDArray[np.integer], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(lead | d) for d = 0 … most drawn, and P(tie | 2k), each with a row a pair.

    Drawing from D balls of which b are for the better model: from a tie at 2k the
    next ball gives the lead with (b − k) / (D − 2k); from a lead of one at 2k + 1
    the next takes it with (c − k) / (D − 2k − 1).
    """
    most = int(min(discordant.max(), most))
    half = most // 2 + 1
    k = np.arange(half)
    b, total = better[:, None].astype(np.float64), discordant[:, None].astype(np.float64)
    for_better, for_worse = np.maximum(b - k, 0), np.maximum(total - b - k, 0)
    left = np.maximum(total - 2 * k, 1)
    left_after = np.maximum(left - 1, 1)
    # C(b,k) C(c,k) / C(D,2k) by the ratio of neighbours.
    ratio = for_better * for_worse / (left * left_after) * ((2 * k + 2) * (2 * k + 1) / (k + 1) ** 2)
    tie = np.ones((len(better), half))
    np.cumprod(ratio[:, :-1], axis=1, out=tie[:, 1:])
    gained = tie * for_better / left
    lost = gained * (2 * k + 1) / (k + 1) * for_worse / left_after
    lead = np.empty((len(better), 2 * half))
    lead[:, 0::2] = np.cumsum(gained - lost, axis=1) - (gained - lost)
    lead[:, 1::2] = lead[:, 0::2] + gained
    return lead[:, : most + 1], tie


def _log_factorial(k: NDArray[np.integer] | int) -> NDArray[np.float64]:
    return np.asarray(gammaln(np.asarray(k) + 1.0))


@lru_cache(maxsize=8)
def log_factorials(most: int) -> NDArray[np.float64]:
    """Log of 0! … most!, shape (most + 1,)."""
    return np.asarray(gammaln(np.arange(most + 1) + 1.0))
