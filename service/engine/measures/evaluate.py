"""How well each curve (method × size) orders pairs as the truth does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.data.pairs import BIN_WIDTH, N_BINS, ModelPairs, Truth
from service.engine.measures.bootstrap import (
    ALL,
    EVEN,
    LEAST_MODELS,
    ODD,
    Multiplicities,
    Resampled,
    interval,
    resample,
)
from service.engine.measures.mdad import NEVER, first_crossing_bin, isotonic_bin

TOO_FEW = f"fewer than {LEAST_MODELS} target models"
NO_PAIRS = "no comparable pairs"
OPEN_END = "not reached in more than 2.5 % of resamples"
QUANTUM = 2.0**20
"""Probabilities enter the bootstrap as multiples of 1/QUANTUM, so that their sums are exact."""


@dataclass(frozen=True, slots=True)
class AgreementRule:
    """How agreement and MDAD are counted: probability, and the paper's rule or the default."""

    probability: float
    paper: bool


@dataclass(frozen=True, eq=False)
class AgreementResult:
    """Tallies of C curves over bins of the true difference, on all, even and odd trials.

    Attributes
    ----------
    weight : ndarray of float64, shape (3, bins)
        ModelPairs with an order.
    strict, tied : ndarray of float64, shape (3, C, bins)
        ModelPairs ordered rightly, and left tied.
    equal : int
        ModelPairs without a true difference, left out.
    largest : float
        Largest true difference.
    resampled : Resampled or None
        None without an interval.
    """

    rule: AgreementRule
    weight: NDArray[np.float64]
    strict: NDArray[np.float64]
    tied: NDArray[np.float64]
    equal: int
    largest: float
    resampled: Resampled | None

    def credit(self, which: int = ALL) -> NDArray[np.float64]:
        """Agreements as the rule counts ties, shape (C, bins)."""
        credit: NDArray[np.float64] = self.strict[which]
        return credit if self.rule.paper else credit + self.tied[which] / 2

    @cached_property
    def agreement(self) -> NDArray[np.float64]:
        """Share of pairs ordered rightly, shape (3, C); NaN without pairs."""
        total = self.weight.sum(axis=1)[:, None]
        right = np.stack([self.credit(which).sum(axis=1) for which in (ALL, EVEN, ODD)])
        share: NDArray[np.float64] = np.full(right.shape, np.nan)
        np.divide(right, total, out=share, where=total > 0)
        return share

    @cached_property
    def mdad(self) -> NDArray[np.float64]:
        """MDAD of each curve under the rule, +inf where not reached, shape (3, C)."""
        find = first_crossing_bin if self.rule.paper else isotonic_bin
        bins = [
            find(self.weight[which][:, None], self.credit(which).T, self.rule.probability)
            for which in (ALL, EVEN, ODD)
        ]
        return edges(np.stack(bins))


def edges(bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Lower edges of bins; +inf for NEVER."""
    return np.where(bins == NEVER, np.inf, bins * BIN_WIDTH)


def evaluate_agreement(
    pairs: ModelPairs,
    models: NDArray[np.integer],
    truth: Truth,
    agree: NDArray[np.floating],
    tie: NDArray[np.floating],
    rule: AgreementRule,
    drawn: Multiplicities | None,
    *,
    halves: bool,
) -> AgreementResult:
    """Tally and resample every curve.

    Parameters
    ----------
    models : ndarray of int, shape (2, P)
        Rows of `drawn.models` of each pair's models.
    agree, tie : ndarray, shape (C, P)
        Whether, or with what probability, a curve orders a pair rightly or leaves it tied.
    drawn : Multiplicities, optional
        None: no intervals.
    halves : bool
        Resample even and odd trials apart as well.
    """
    kept = np.flatnonzero(truth.sign)
    bins, trial = truth.bin[kept], pairs.trial[kept]
    agree, tie = agree[:, kept], tie[:, kept]
    key = (trial % 2) * N_BINS + bins
    weight = _halves(np.bincount(key, minlength=2 * N_BINS).astype(np.float64)[None])[:, 0]
    strict, tied = (_halves(_tally(key, values)) for values in (agree, tie))
    resampled = None
    if drawn is not None and len(kept):
        credits = agree if rule.paper else agree + tie / 2
        exact = np.round(credits * QUANTUM) / QUANTUM if credits.dtype == np.float64 else credits
        rows = (models[0][kept], models[1][kept], trial)
        resampled = resample(bins, exact.T, rows, drawn, rule.probability, paper=rule.paper, halves=halves)
    return AgreementResult(rule, weight, strict, tied, len(truth.sign) - len(kept), truth.largest, resampled)


def _tally(key: NDArray[np.integer], values: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.stack([np.bincount(key, weights=row, minlength=2 * N_BINS) for row in values])


def _halves(tally: NDArray[np.float64]) -> NDArray[np.float64]:
    """(C, 2 · bins) by half of the trials → (3, C, bins) for all, even, odd."""
    even, odd = tally[:, :N_BINS], tally[:, N_BINS:]
    return np.stack((even + odd, even, odd))


def judgement(judged: AgreementResult, curve: int, which: int = ALL) -> dict[str, Any]:
    """One curve's entry in the result (plain JSON)."""
    weight, strict, tied = judged.weight[which], judged.strict[which, curve], judged.tied[which, curve]
    pairs = int(weight.sum())
    answer: dict[str, Any] = {
        "agreement": None,
        "agreement_interval": None,
        "agreement_strict": None,
        "tie_rate": None,
        "mdad": None,
        "interval": None,
        "mdad_isotonic": None,
        "mdad_paper": None,
        "largest_difference": judged.largest,
        "pairs": pairs,
        "equal_pairs": judged.equal,
        "curve": [],
    }
    if not pairs:
        return {**answer, "reason": NO_PAIRS, "interval_reason": NO_PAIRS}
    half, p = strict + tied / 2, judged.rule.probability
    isotonic, paper = (
        edges(isotonic_bin(weight[:, None], half[:, None], p))[0],
        edges(first_crossing_bin(weight[:, None], strict[:, None], p))[0],
    )
    headline = paper if judged.rule.paper else isotonic
    answer |= {
        "agreement": judged.agreement[which, curve],
        "agreement_strict": strict.sum() / pairs,
        "tie_rate": tied.sum() / pairs,
        "mdad": _finite(headline),
        "mdad_isotonic": _finite(isotonic),
        "mdad_paper": _finite(paper),
        "curve": _curve(weight, judged.credit(which)[curve], strict),
    }
    if not np.isfinite(headline):
        answer["reason"] = "not_reached"
    return answer | _intervals(judged, curve, which, answer["agreement"], headline)


def _intervals(
    judged: AgreementResult, curve: int, which: int, agreement: float, mdad: float
) -> dict[str, Any]:
    if judged.resampled is None:
        return {"interval_reason": TOO_FEW}
    low, high = interval(edges(judged.resampled.mdad[which, curve]), mdad)
    answer: dict[str, Any] = {
        "agreement_interval": list(interval(judged.resampled.agreement[which, curve], agreement)),
        "interval": [_finite(low), _finite(high)] if np.isfinite(low) else None,
    }
    if not np.isfinite(high):
        answer["interval_reason"] = OPEN_END
    return answer


def _curve(
    weight: NDArray[np.float64], credit: NDArray[np.float64], strict: NDArray[np.float64]
) -> list[Mapping[str, float]]:
    return [
        {
            "difference": int(b) * BIN_WIDTH,
            "agreement": credit[b] / weight[b],
            "agreement_strict": strict[b] / weight[b],
            "pairs": int(weight[b]),
        }
        for b in np.flatnonzero(weight)
    ]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
