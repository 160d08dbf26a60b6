"""The MDAD as a smooth number: a probit curve through agreement near the place where it reaches p.

Pairs are tallied by their exact difference Δ; pairs without one are left out. The model is

    Φ⁻¹(agreement(Δ)) = z (Δ / m)^γ,   z = Φ⁻¹(p),

which starts at ½, grows, and reaches p at Δ = m: the MDAD. It is fitted by Gauss–Newton to
(log m, γ) with weights that fall off with the distance of log Δ from log m, so that only pairs
about as far apart as the MDAD decide it. The same equations give the influence of each pair,
hence standard errors without resampling (`clustered_errors`).

Source: local likelihood (Loader, Local Regression and Likelihood, 1999) with a probit link; the
constants were chosen on five public matrices (docs/choosing-a-size.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from service.engine.measures.mdad import NEVER, isotonic_bin

Floats = NDArray[np.float64]

BANDWIDTH = 0.6
"""Standard deviation of the weights in log Δ."""
RIDGE = 0.02
"""Pull of γ towards 1, as a share of the weight in the window."""
GROWTH = (0.2, 3.0)
LONGEST_STEP = 0.4
STEPS = 30
CONVERGED = 1e-5
TINY = 1e-12
NEAR = float(np.log(1.5))
"""Pairs within this factor of the MDAD say where it lies; without any it lies in a gap."""


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Pairs grouped by their exact true difference.

    Attributes
    ----------
    kept : ndarray of int64, shape (P,)
        Places of the pairs that differ, among all pairs.
    level : ndarray of int64, shape (P,)
        Group of each of them.
    difference, weight : ndarray of float64, shape (L,)
        |Δ| of each group, ascending, as a fraction; pairs in it.
    """

    kept: NDArray[np.int64]
    level: NDArray[np.int64]
    difference: Floats
    weight: Floats

    @classmethod
    def of(cls, gap: Floats, n_examples: int, *, counts: bool) -> Levels:
        """Group by |Δ|: whole numbers of examples, or bins of half an example where scores are graded.

        Parameters
        ----------
        gap : ndarray, shape (P',)
            Absolute difference of score sums over N examples; 0 for equal pairs.
        counts : bool
            Whether the sums are whole numbers.
        """
        kept = np.flatnonzero(gap > 0)
        size = gap[kept]
        key = size.astype(np.int64) if counts else np.floor(2 * size + 1e-9).astype(np.int64)
        _, level, pairs = np.unique(key, return_inverse=True, return_counts=True)
        weight = pairs.astype(np.float64)
        return cls(kept, level, np.bincount(level, weights=size) / weight / n_examples, weight)

    def tally(self, values: NDArray[np.floating]) -> Floats:
        """Sums of a value of the kept pairs in each group, (C, P) → (C, L)."""
        n = len(self.weight)
        return np.stack([np.bincount(self.level, weights=row, minlength=n) for row in values])


@dataclass(frozen=True, slots=True, eq=False)
class MdadFits:
    """Local probit fits of C curves over the same pairs.

    Attributes
    ----------
    log_mdad, growth : ndarray of float64, shape (C,)
        log m, never below log 1/N, and γ; +inf and NaN where no pair differs.
    reached : ndarray of bool, shape (C,)
        Whether m is at most the largest difference seen; beyond it is an extrapolation.
    slope, fitted : ndarray of float64, shape (C, L)
        What one pair's agreement more at each difference adds to log m, and the fitted agreement.
    below, above : ndarray of float64, shape (C,)
        Where the MDAD lies in a gap: the differences on its two sides (0, +inf without any); else NaN.
    """

    log_mdad: Floats
    growth: Floats
    reached: NDArray[np.bool_]
    slope: Floats
    fitted: Floats
    below: Floats
    above: Floats

    @property
    def mdad(self) -> Floats:
        """MDAD as a fraction, shape (C,)."""
        return np.asarray(np.exp(self.log_mdad))


def fit_mdad(levels: Levels, credit: Floats, probability: float, n_examples: int) -> MdadFits:
    """Fit every curve.

    Parameters
    ----------
    levels : Levels
    credit : ndarray of float64, shape (C, L)
        Agreements in each group: 1 for a pair ordered rightly, ½ for a tie, or exact probabilities.
    probability : float
        p, at least ½; at ½ itself the isotonic crossing is returned.
    n_examples : int
        N of the truth; an MDAD below 1/N is given as 1/N, with no influence.
    """
    curves = len(credit)
    if not len(levels.weight):
        nothing, empty = np.full(curves, np.nan), np.empty((curves, 0))
        return MdadFits(
            np.full(curves, np.inf), nothing, np.zeros(curves, dtype=np.bool_), empty, empty, nothing, nothing
        )
    curve = _Curve(np.log(levels.difference), levels.weight, float(ndtri(probability)))
    log_m, growth = _solve(curve, credit / levels.weight, _start(levels, credit, probability))
    slope, fitted = _influence(curve, log_m, growth)
    floor = np.log(1 / n_examples)
    slope[log_m < floor] = 0
    log_m = np.maximum(log_m, floor)
    reached = log_m <= curve.x[-1] + 1e-12
    return MdadFits(log_m, growth, reached, slope, fitted, *_gaps(levels.difference, log_m))


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """What all curves share: log Δ and pairs of each group, each (L,), and z."""

    x: Floats
    weight: Floats
    z: float


@dataclass(frozen=True, slots=True, eq=False)
class _Local:
    """The model at (log m, γ): fitted agreement, kernel over variance, derivatives, each (C, L).

    `information` holds the three entries of the symmetric 2 × 2 matrices, each (C,), with the
    ridge; `ridge` (C,) is its weight.
    """

    fitted: Floats
    precision: Floats
    by_m: Floats
    by_growth: Floats
    information: tuple[Floats, Floats, Floats]
    ridge: Floats

    @classmethod
    def at(cls, curve: _Curve, log_m: Floats, growth: Floats) -> _Local:
        away = curve.x - log_m[:, None]
        eta = curve.z * np.exp(np.clip(growth[:, None] * away, -6, 3))
        fitted = np.clip(ndtr(eta), 1e-6, 1 - 1e-6)
        change = eta * np.exp(-0.5 * eta**2) / np.sqrt(2 * np.pi)
        kernel = np.exp(-0.5 * (away / BANDWIDTH) ** 2)
        precision = kernel / (fitted * (1 - fitted))
        by_m, by_growth = -growth[:, None] * change, away * change
        weight = precision * curve.weight
        ridge = RIDGE * (kernel @ curve.weight)
        information = (
            (weight * by_m**2).sum(axis=1) + TINY,
            (weight * by_m * by_growth).sum(axis=1),
            (weight * by_growth**2).sum(axis=1) + ridge + TINY,
        )
        return cls(fitted, precision, by_m, by_growth, information, ridge)


def _solve(curve: _Curve, agreement: Floats, log_m: Floats) -> tuple[Floats, Floats]:
    """Gauss–Newton from a start, curve by curve until each has converged."""
    growth = np.ones(len(log_m))
    moving = np.arange(len(log_m))
    for _ in range(STEPS):
        local = _Local.at(curve, log_m[moving], growth[moving])
        weighted = local.precision * curve.weight * (agreement[moving] - local.fitted)
        first = (weighted * local.by_m).sum(axis=1)
        second = (weighted * local.by_growth).sum(axis=1) - (growth[moving] - 1) * local.ridge
        a, b, c = local.information
        steps = np.stack((c * first - b * second, a * second - b * first)) / (a * c - b * b)
        steps = np.clip(steps, -LONGEST_STEP, LONGEST_STEP)
        log_m[moving] += steps[0]
        growth[moving] = np.clip(growth[moving] + steps[1], *GROWTH)
        moving = moving[np.abs(steps).max(axis=0) >= CONVERGED]
        if not len(moving):
            break
    return log_m, growth


def _influence(curve: _Curve, log_m: Floats, growth: Floats) -> tuple[Floats, Floats]:
    """What one pair adds to log m per agreement above the fit, and the fit, each (C, L)."""
    local = _Local.at(curve, log_m, growth)
    a, b, c = (entry[:, None] for entry in local.information)
    return local.precision * (c * local.by_m - b * local.by_growth) / (a * c - b * b), local.fitted


def _start(levels: Levels, credit: Floats, probability: float) -> Floats:
    """The isotonic crossing, else the largest difference."""
    crossing = isotonic_bin(levels.weight[:, None], credit.T.copy(), probability)
    last = len(levels.difference) - 1
    return np.asarray(np.log(levels.difference[np.where(crossing == NEVER, last, crossing)]))


def _gaps(difference: Floats, log_m: Floats) -> tuple[Floats, Floats]:
    """The differences beside an MDAD that has no pair near it, (C,) each; NaN where it has."""
    x = np.log(difference)
    after = np.searchsorted(x, log_m)
    low = np.concatenate(([-np.inf], x))[after]
    high = np.concatenate((x, [np.inf]))[after]
    open_ = (log_m - low > NEAR) & (high - log_m > NEAR)
    return np.where(open_, np.exp(low), np.nan), np.where(open_, np.exp(high), np.nan)
