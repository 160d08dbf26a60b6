"""McNemar's test of two models on the same examples, exact and mid-p.

Given how many examples only one model gets right, d = b + c, equal models split
them like d tosses of a fair coin. The exact test keeps its level at every d and is
conservative; mid-p counts half of the observed outcome and is the one verdicts rest
on (Fagerland, Lydersen & Laake 2013, BMC Med. Res. Methodol. 13:91).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special


@dataclass(frozen=True, slots=True)
class McNemar:
    """Two-sided p-values; both 1 when no example tells the models apart."""

    exact: float
    mid_p: float


def mcnemar(b: int, c: int) -> McNemar:
    """Both p-values from the discordant counts.

    Examples
    --------
    >>> mcnemar(8, 2)
    McNemar(exact=0.109375, mid_p=0.0654296875)
    """
    more, fewer = float(max(b, c)), float(min(b, c))
    exact = min(1.0, 2 * float(_upper_tail(np.asarray(more), np.asarray(fewer + 1))))
    return McNemar(exact=exact, mid_p=float(mid_p(b, c)))


def mid_p(b: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """Two-sided mid-p value of b against c.

    Real counts are allowed (effective counts of a weighted or finite sample); for
    integers this is 2 P(X > max) + P(X = max), X ~ Binomial(b + c, ½).
    """
    b, c = np.asarray(b, dtype=np.float64), np.asarray(c, dtype=np.float64)
    more, fewer = np.maximum(b, c), np.minimum(b, c)
    return np.minimum(1.0, _upper_tail(more, fewer + 1) + _upper_tail(more + 1, fewer))


def _upper_tail(k: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(X ≥ k) for X ~ Binomial(k + rest − 1, ½), continued to real arguments."""
    tail = special.betainc(np.maximum(k, 1e-300), np.maximum(rest, 1e-300), 0.5)
    return np.where(k <= 0, 1.0, tail)
