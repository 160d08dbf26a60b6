"""What a gate on a random sample will find, before anything is run: measured on the models there are.

Some of the known models play the candidate, the next in score the baseline, and the rest
the source models; each pair is estimated from random examples as `compare` does. The mean
variance is the gate's at that size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.engine.comparison.full_scores import EstimatorUsed, SampledEvidence
from service.engine.comparison.gate import GateRule
from service.engine.comparison.intervals import critical
from service.engine.comparison.operating_characteristics import GateRates, normal_rates
from service.engine.data.contracts import Source
from service.engine.prediction.ability_model import fit_ability_model

CANDIDATES, MOST_SOURCES = 6, 60
"""Models that play the candidate, and source models that each is judged with."""
_LEAST_SOURCES = 2
_FITTED = 5


@dataclass(frozen=True, slots=True)
class GateAtSize:
    """A gate on `size` random examples: its error, and what it does."""

    size: int
    standard_error: float
    estimator: EstimatorUsed
    rates: GateRates


@dataclass(frozen=True, slots=True)
class PlannedGate:
    """The answer.

    Attributes
    ----------
    drop : float
        To be found.
    size : int, optional
        Fewest random examples on which the gate finds it with the rule's power; None when
        only the whole benchmark shows it.
    pairs : int
        Pairs of models the errors were measured on; 0 where only the disagreement is known.
    by_size : tuple of GateAtSize
    """

    drop: float
    size: int | None
    pairs: int
    by_size: tuple[GateAtSize, ...]


def planned_gate(
    drop: float,
    sizes: Sequence[int],
    rule: GateRule,
    *,
    total: int | None,
    disagreement: float,
    source: Source | None = None,
) -> PlannedGate:
    """Plan a gate with this benchmark as its truth.

    Parameters
    ----------
    drop : float
        True drop to be found, above the rule's margin.
    sizes : sequence of int
    rule : GateRule
    total : int, optional
        Examples of the benchmark; None for an unlimited supply.
    disagreement : float
        Share of examples only one of two models gets right; decides where there are too few
        models to measure the errors.
    source : Source, optional
        The known models' scores.
    """
    if total is not None:
        sizes = sorted({min(size, total) for size in sizes})
    measured = dict.fromkeys(sizes, (disagreement, 0))
    used: EstimatorUsed = "plain"
    if source is not None and source.n_models >= _LEAST_SOURCES + 2:
        measured, used = _measured(source, sizes)
    by_size = tuple(_at(size, measured[size][0], used, rule, total) for size in sizes)
    spreads = np.array([measured[size][0] for size in sizes])
    return PlannedGate(
        drop=drop,
        size=_fewest(drop, np.array(sizes), spreads, rule, total),
        pairs=min((pairs for _, pairs in measured.values()), default=0),
        by_size=by_size,
    )


def _measured(source: Source, sizes: Sequence[int]) -> tuple[dict[int, tuple[float, int]], EstimatorUsed]:
    """Variance of one example's error and number of pairs by size."""
    rng, total = np.random.default_rng(0), source.n_examples
    scores = source.scores.astype(np.float64)
    order = np.argsort(scores.mean(axis=1), kind="stable")
    places = np.unique(np.linspace(0, len(order) - 2, CANDIDATES).round().astype(int))
    drawn = rng.permutation(total)
    found: dict[int, list[float]] = {size: [] for size in sizes}
    used: EstimatorUsed = "plain"
    for place in places:
        candidate, baseline = order[place], order[place + 1]
        others = rng.permutation(np.setdiff1d(order, (candidate, baseline)))[: MOST_SOURCES - 1]
        part = Source(source.scores[np.append(others, baseline)], source.strata)
        model, mean = fit_ability_model(part), part.scores.mean(axis=0, dtype=np.float64)
        for size in sizes:
            if size >= total:
                continue
            chosen = np.sort(drawn[:size])
            evidence = SampledEvidence(chosen, np.full(size, size / total), total, model, mean)
            both = scores[[baseline, candidate]][:, chosen]
            full = evidence.scores(both, scores[baseline])
            used = full.used
            found[size].append(float(full.of_differences[0, 1]) * size / (1 - size / total))
    last = float(np.mean(next((found[size] for size in reversed(sizes) if found[size]), [0.0])))
    return {size: (float(np.mean(some)) if some else last, len(places)) for size, some in found.items()}, used


def _at(size: int, spread: float, used: EstimatorUsed, rule: GateRule, total: int | None) -> GateAtSize:
    error = _error(size, spread, total)
    return GateAtSize(size, error, used, normal_rates(error, rule, max(size - _FITTED, 1)))


def _error(size: float, spread: float, total: int | None) -> float:
    left = 1.0 if total is None else 1 - size / total
    return math.sqrt(spread / size * left)


def _fewest(
    drop: float, sizes: NDArray[np.int64], spreads: NDArray[np.float64], rule: GateRule, total: int | None
) -> int | None:
    """By the spread at each size, linear between the sizes measured in their logarithm."""
    beyond = drop + rule.threshold
    power = float(special.ndtri(rule.power))

    def finds(size: int) -> bool:
        spread = float(np.interp(math.log(size), np.log(sizes), spreads))
        reach = (critical(rule.confidence, max(size - _FITTED, 1)) + power) * _error(size, spread, total)
        return reach <= beyond

    low, high = 1, total or 10_000_000
    if beyond <= 0 or not finds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle + 1, high)
    return None if low == total else low
