"""MDAD for questions that no trial has seen, from trials judged on a held-out half.

The half is a sample of h questions: models that differ by δ on all such questions differ by
δ ± √(v/h) on it, so a raw MDAD against the half carries the half's own noise. With
ρ = V_δ / (V_δ + v̄/h), the share of the variance of observed differences that is true,

    m² = ρ² m_h² − z² ρ v(m_h) / h,

and for a subset of all N examples rather than of half of them

    m² = m_same(n)² + c(n) resolution²,   c(n) = (m(n; N/2)² − m_same(n; N/2)²) / resolution(N/2)²,

at most 1, which it is for random draws. These are averages over benchmarks of the kind; one
benchmark has its own luck, ± 20–30 %.

Source: regression to the mean of classical test theory (Lord and Novick, 1968).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from service.engine.measures.local_probit import Floats
from service.engine.measures.resolution import PairSpread


def without_noise(raw: Floats, spread: PairSpread, heldout: int, probability: float) -> Floats:
    """MDAD of subsets of one half for new questions, from raw MDADs against the other.

    Parameters
    ----------
    raw : ndarray of float64, shape (S,)
        m_h.
    spread : PairSpread
        Of the whole benchmark.
    heldout : int
        h.

    Returns
    -------
    ndarray of float64, shape (S,)
        NaN where the square is not positive: below half of the resolution.
    """
    true_share = spread.signal / (spread.signal + spread.variance / heldout) if spread.signal else 0.0
    near = np.array([spread.variance_near(m) for m in raw])
    square = (true_share * raw) ** 2 - ndtri(probability) ** 2 * true_share * near / heldout
    return np.sqrt(np.where(square > 0, square, np.nan))


def log_error(raw: Floats, found: Floats, spread: PairSpread, heldout: int) -> Floats:
    """How many times the standard error of log m_h that of log m is, shape (S,)."""
    true_share = spread.signal / (spread.signal + spread.variance / heldout) if spread.signal else 0.0
    return np.asarray((true_share * raw / found) ** 2)
