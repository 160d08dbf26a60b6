"""How well each curve (method × size) orders pairs as the truth does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from service.engine.data.pairs import BIN_WIDTH, N_BINS, ModelPairs, Truth
from service.engine.measures.clustered_errors import Clusters, PairSums, StandardErrors
from service.engine.measures.local_probit import Floats, Levels, MdadFits, fit_mdad
from service.engine.measures.mdad import NEVER, first_crossing_bin, isotonic_bin

LEAST_MODELS = 10
"""Fewer target models give no interval."""
ENOUGH_MODELS = 15
"""From so many target models on, intervals hold; with fewer they are too narrow."""

TOO_FEW = f"fewer than {LEAST_MODELS} target models"
NO_PAIRS = "no comparable pairs"
NOT_REACHED = "not_reached"
PAPER = "the paper's rule has no standard error"


@dataclass(frozen=True, slots=True)
class AgreementRule:
    """How agreement and MDAD are counted: probability, and the paper's rule or the default."""

    probability: float
    paper: bool


@dataclass(frozen=True, eq=False)
class AgreementResult:
    """C curves over the same pairs.

    Attributes
    ----------
    weight : ndarray of float64, shape (bins,)
        ModelPairs with an order, by bins of the true difference half a point wide.
    strict, tied : ndarray of float64, shape (C, bins)
        ModelPairs ordered rightly, and left tied.
    fits : MdadFits
        Of agreement as the rule counts ties.
    mdad_influence, agreement_influence : ndarray of float64, shape (C, R, T)
        On log MDAD and on mean agreement, by trial and target.
    clusters : Clusters
    n_models : int
        Target models that are in a pair.
    equal : int
        ModelPairs without a true difference, left out.
    largest : float
        Largest true difference.
    """

    rule: AgreementRule
    weight: Floats
    strict: Floats
    tied: Floats
    fits: MdadFits
    mdad_influence: Floats
    agreement_influence: Floats
    clusters: Clusters
    n_models: int
    equal: int
    largest: float

    @property
    def credit(self) -> Floats:
        """Agreements as the rule counts ties, shape (C, bins)."""
        return self.strict if self.rule.paper else self.strict + self.tied / 2

    @cached_property
    def agreement(self) -> Floats:
        """Share of pairs ordered rightly, shape (C,); NaN without pairs."""
        total = self.weight.sum()
        return self.credit.sum(axis=1) / total if total else np.full(len(self.strict), np.nan)

    @cached_property
    def mdad(self) -> Floats:
        """MDAD of each curve under the rule, +inf where not reached, shape (C,)."""
        if self.rule.paper:
            found = first_crossing_bin(self.weight[:, None], self.strict.T.copy(), self.rule.probability)
            return edges(found)
        return np.where(self.fits.reached, self.fits.mdad, np.inf)

    @cached_property
    def mdad_errors(self) -> StandardErrors:
        """Standard errors of log MDAD, (C,) each."""
        return self.clusters.errors(self.mdad_influence)

    @cached_property
    def agreement_errors(self) -> StandardErrors:
        """Standard errors of mean agreement, (C,) each."""
        return self.clusters.errors(self.agreement_influence)

    @property
    def critical(self) -> float:
        """Half of a 95 % interval, in standard errors."""
        return critical(self.n_models)


def critical(n_models: int) -> float:
    """Student's t for 95 %, with the number of models less one as degrees of freedom."""
    return float(student.ppf(0.975, max(n_models - 1, 1)))


def edges(bins: NDArray[np.int64]) -> Floats:
    """Lower edges of bins; +inf for NEVER."""
    return np.where(bins == NEVER, np.inf, bins * BIN_WIDTH)


def evaluate_agreement(
    pairs: ModelPairs,
    models: NDArray[np.int64],
    gap: Floats,
    n_examples: int,
    agree: NDArray[np.floating],
    tie: NDArray[np.floating],
    rule: AgreementRule,
    *,
    counts: bool,
) -> AgreementResult:
    """Tally and fit every curve.

    Parameters
    ----------
    models : ndarray of int64, shape (R, T)
        Which model each target of each trial is.
    gap : ndarray of float64, shape (P,)
        Absolute difference of score sums over the N examples of the truth; 0 for equal pairs.
    agree, tie : ndarray, shape (C, P)
        Whether, or with what probability, a curve orders a pair rightly or leaves it tied.
    counts : bool
        Whether the sums are whole numbers.
    """
    levels = Levels.of(gap, n_examples, counts=counts)
    kept = levels.kept
    agree, tie = agree[:, kept], tie[:, kept]
    truth = Truth.of(gap[kept], n_examples, counts=counts)
    weight = np.bincount(truth.bin, minlength=N_BINS).astype(np.float64)
    strict, tied = (
        np.array([np.bincount(truth.bin, weights=row, minlength=N_BINS) for row in rows]).reshape(-1, N_BINS)
        for rows in (agree, tie)
    )
    credit = agree if rule.paper else agree + tie / 2
    fits = fit_mdad(levels, levels.tally(credit), rule.probability, n_examples)
    involved = np.zeros(models.shape, dtype=np.bool_)
    for side in (pairs.first, pairs.second):
        involved[pairs.trial[kept], side[kept]] = True
    return AgreementResult(
        rule, weight, strict, tied, fits,
        *_influences(pairs, levels, fits, credit, models.shape),
        Clusters(models, (len(models),)),
        len(np.unique(models[involved])),
        len(gap) - len(kept),
        truth.largest,
    )  # fmt: skip


def _influences(
    pairs: ModelPairs, levels: Levels, fits: MdadFits, credit: NDArray[np.floating], shape: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """On log MDAD and on mean agreement, (C, R, T) each."""
    mdad, agreement = np.zeros((2, len(credit), *shape))
    if not len(levels.kept):
        return mdad, agreement
    sums = PairSums(pairs, levels, (shape[0], shape[1]))
    flat = np.full(len(levels.weight), 1 / len(levels.kept))
    for at, values in enumerate(credit):
        mdad[at] = sums.influence(fits.slope[at], fits.fitted[at], values)
        mean = np.full(len(flat), values.mean(dtype=np.float64))
        agreement[at] = sums.influence(flat, mean, values)
    return mdad, agreement


def judgement(result: AgreementResult, curve: int) -> dict[str, Any]:
    """One curve's entry in the result (plain JSON)."""
    weight, strict, tied = result.weight, result.strict[curve], result.tied[curve]
    pairs = int(weight.sum())
    answer: dict[str, Any] = {
        "agreement": None,
        "agreement_interval": None,
        "agreement_strict": None,
        "tie_rate": None,
        "mdad": None,
        "interval": None,
        "seed_interval": None,
        "gap": None,
        "mdad_isotonic": None,
        "mdad_paper": None,
        "largest_difference": result.largest,
        "pairs": pairs,
        "equal_pairs": result.equal,
        "curve": [],
    }
    if not pairs:
        return {**answer, "reason": NO_PAIRS, "interval_reason": NO_PAIRS}
    half, p = strict + tied / 2, result.rule.probability
    isotonic = edges(isotonic_bin(weight[:, None], half[:, None].copy(), p))[0]
    paper = edges(first_crossing_bin(weight[:, None], strict[:, None].copy(), p))[0]
    answer |= {
        "agreement": result.agreement[curve],
        "agreement_strict": strict.sum() / pairs,
        "tie_rate": tied.sum() / pairs,
        "mdad_isotonic": _finite(isotonic),
        "mdad_paper": _finite(paper),
        "curve": _curve(weight, result.credit[curve], strict),
    }
    return answer | _agreement_interval(result, curve) | _mdad_entry(result, curve)


def _agreement_interval(result: AgreementResult, curve: int) -> dict[str, Any]:
    if result.n_models < LEAST_MODELS:
        return {}
    half = result.critical * result.agreement_errors.models[curve]
    middle = result.agreement[curve]
    return {"agreement_interval": [max(middle - half, 0.0), min(middle + half, 1.0)]}


def _mdad_entry(result: AgreementResult, curve: int) -> dict[str, Any]:
    """MDAD with its intervals, or why there is none."""
    mdad = _finite(result.mdad[curve])
    reason = {} if mdad is not None else {"reason": NOT_REACHED}
    if result.rule.paper:
        return {"mdad": mdad, "interval_reason": PAPER} | reason
    low, high = float(result.fits.below[curve]), float(result.fits.above[curve])
    gap = None if mdad is None or np.isnan(low) else (low, high)
    errors = result.mdad_errors.trials[curve], result.mdad_errors.models[curve]
    return mdad_entry(result.fits.log_mdad[curve], errors, result.n_models, gap, reached=mdad is not None)


def mdad_entry(
    log_mdad: float,
    errors: tuple[float, float],
    n_models: int,
    gap: tuple[float, float] | None = None,
    *,
    reached: bool = True,
) -> dict[str, Any]:
    """MDAD, its 95 % intervals for other models and for other seeds, and the gap it lies in.

    Parameters
    ----------
    errors : (float, float)
        Standard errors of log MDAD: with other seeds, and with other models too.
    gap : (float, float), optional
        Differences beside an MDAD that no pair is near; the interval spans them.
    """
    if not reached or log_mdad > 0:
        return {"mdad": None, "reason": NOT_REACHED, "interval_reason": NOT_REACHED}
    answer: dict[str, Any] = {"mdad": float(np.exp(log_mdad)), "gap": list(gap) if gap else None}
    if gap is not None and not np.isfinite(gap[1]):
        answer["gap"] = [gap[0], None]
    if n_models < LEAST_MODELS:
        return answer | {"interval_reason": TOO_FEW}
    by_seeds, by_models = (_ends(log_mdad, critical(n_models) * error, gap) for error in errors)
    return answer | {"interval": by_models, "seed_interval": by_seeds}


def _ends(log_mdad: float, half: float, gap: tuple[float, float] | None) -> list[float]:
    low, high = np.exp(log_mdad - half), np.exp(log_mdad + half)
    if gap is not None:
        low, high = min(low, gap[0]), max(high, gap[1])
    return [float(low), float(min(high, 1.0))]


def _curve(weight: Floats, credit: Floats, strict: Floats) -> list[Mapping[str, float]]:
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
