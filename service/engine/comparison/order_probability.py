"""How sure the order of two models on the full benchmark is, from a random part of it.

The examples not answered are the unknown. Among them the number that tells the
models apart, and the share of those in the leader's favour, follow from the ones
seen: Beta–binomial in both steps (the posterior of hypergeometric sampling). With
nothing left unseen the order is certain; ties on the full benchmark count half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

# Beta(½, ½): nothing known about how models of this kind split their discordant examples.
JEFFREYS = 0.5

# Quantile levels of the share integrated over: midpoints of 40 equal slices of its posterior.
_LEVELS = (np.arange(40) + 0.5) / 40


def order_probability(gain: int, loss: int, n: int, total: int, prior: float = JEFFREYS) -> float:
    """Probability that the model ahead on n examples is ahead on all `total` of them.

    Parameters
    ----------
    gain, loss : int
        Examples only the one, only the other gets right, among the n.
    n, total : int
        Examples seen, drawn at random without replacement, and in the full benchmark.
    prior : float
        a of the Beta(a, a) prior of a discordant example's direction; see `prior_from_pairs`.

    Returns
    -------
    float
        In [½, 1] but for rounding; ½ when neither is ahead on n examples.
    """
    ahead, behind = max(gain, loss), min(gain, loss)
    if n >= total:
        return 1.0 if ahead > behind else 0.5
    unseen = _bulk(ahead + behind, n, total)
    share = special.betaincinv(ahead + prior, behind + prior, _LEVELS)[:, None]
    needed = (unseen - (ahead - behind)) / 2
    strictly, ties = np.floor(needed) + 1, needed == np.floor(needed)
    win = _at_least(strictly, unseen, share)
    win = win + 0.5 * ties * (_at_least(strictly - 1, unseen, share) - win)
    return float(win.mean(axis=0) @ _beta_binomial(unseen, total - n, ahead + behind, n))


def normal_order_probability(difference: float, standard_error: float, spread: float | None) -> float:
    """The same for a difference with a normal error.

    Parameters
    ----------
    difference, standard_error : float
        Of the full benchmark's difference.
    spread : float, optional
        Standard deviation of such differences among known models, the normal prior;
        None when the standard error is a posterior's already.
    """
    if standard_error == 0:
        return 1.0
    off = abs(difference) / standard_error
    if spread is not None:
        off *= spread / (spread**2 + standard_error**2) ** 0.5
    return float(special.ndtr(off))


def prior_from_pairs(gains: NDArray[np.integer], losses: NDArray[np.integer]) -> float:
    """The a of Beta(a, a) that fits pairs of known models, by the method of moments.

    Known models are mostly close to each other; Jeffreys' prior does not know that and
    is too sure. ρ = (Σ(b − c)² − Σd) / Σ d(d − 1), a = (1/ρ − 1) / 2, for d = b + c.

    Parameters
    ----------
    gains, losses : ndarray of int, shape (P,)
        Discordant counts of each pair on the full benchmark.
    """
    discordant = (gains + losses).astype(np.float64)
    scale = float((discordant * (discordant - 1)).sum())
    if scale <= 0:
        return JEFFREYS
    rho = (float(((gains - losses).astype(np.float64) ** 2).sum()) - float(discordant.sum())) / scale
    return float(np.clip((1 / max(rho, 1e-4) - 1) / 2, JEFFREYS, 5e3))


def _bulk(discordant: int, n: int, total: int) -> NDArray[np.int64]:
    """Numbers of unseen discordant examples that carry all but 1e-5 of the probability.

    Where they are many, every third, fifth …: an odd step meets even and odd numbers alike.
    """
    unseen = total - n
    low, high = special.betaincinv(discordant + 0.5, n - discordant + 0.5, np.array([3e-6, 1 - 3e-6]))
    spread = 4.5 * (unseen / 4) ** 0.5
    first = max(0, int(unseen * low - spread))
    last = min(unseen, int(unseen * high + spread) + 1)
    return np.arange(first, last + 1, (last - first) // 300 * 2 + 1)


def _beta_binomial(k: NDArray[np.int64], m: int, discordant: int, n: int) -> NDArray[np.float64]:
    """P(k of m unseen examples are discordant), summing to 1 over k."""
    a, b = discordant + 0.5, n - discordant + 0.5
    log = special.betaln(k + a, m - k + b) - special.gammaln(k + 1) - special.gammaln(m - k + 1)
    chance = np.exp(log - log.max())
    return np.asarray(chance / chance.sum())


def _at_least(
    k: NDArray[np.float64], n: NDArray[np.int64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P(X ≥ k) for X ~ Binomial(n, share), broadcast."""
    inside = (k > 0) & (k <= n)
    tail = special.betainc(np.where(inside, k, 1.0), np.where(inside, n - k + 1, 1.0), share)
    return np.where(k <= 0, 1.0, np.where(inside, tail, 0.0))
