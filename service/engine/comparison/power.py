"""How many examples it takes: before anything is run.

JSON of the answer (`dataclasses.asdict`):

    {disagreement, difference, probability, confidence, benchmark | null,
     examples_to_order | null,       random examples that order the two models rightly with `probability`
     examples_to_decide | null,      that let the gate find a drop that large with it
     by_size: [{size, mdad | null, smallest_detectable_drop | null, false_alarm_rate, can_pass, can_fail}]}

What drives the size is how often the two models disagree, not how large the benchmark is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.engine.comparison.gate import (
    EXACT_UP_TO,
    Gate,
    GateRule,
    examples_needed,
    likely,
    normal_detectable_drop,
    normal_fail_probability,
    smallest_detectable_drop,
)
from service.engine.data.pairs import EQUAL
from service.engine.measures.random_agreement import random_agreement

MANY = 1_000
"""Discordant examples from which on the normal order of two models is right to 1e-4."""


@dataclass(frozen=True, slots=True)
class SizePower:
    """What random examples of one size can tell."""

    size: int
    mdad: float | None
    smallest_detectable_drop: float | None
    false_alarm_rate: float
    can_pass: bool
    can_fail: bool


@dataclass(frozen=True, slots=True)
class Power:
    """The answer; the module's docstring says what each part is."""

    disagreement: float
    difference: float
    probability: float
    confidence: float
    benchmark: int | None
    examples_to_order: int | None
    examples_to_decide: int | None
    by_size: tuple[SizePower, ...]


@dataclass(frozen=True, slots=True)
class GroupDisagreement:
    """How often the pairs of a group of models disagree: median, quartiles, number of pairs."""

    median: float
    lower_quartile: float
    upper_quartile: float
    pairs: int


@dataclass(frozen=True, slots=True)
class NearMargin:
    """How many of the known pairs can validate a gate at this margin: those close to it."""

    pairs: int
    near: int
    closest_below: float | None
    closest_above: float | None


def power(
    disagreement: float,
    difference: float,
    sizes: Sequence[int],
    *,
    rule: GateRule,
    total: int | None = None,
) -> Power:
    """Examples needed for one difference, and what each size can tell.

    Parameters
    ----------
    disagreement : float
        Share of examples only one of the two models gets right; above 0.
    difference : float
        Between their full scores; above 0, at most `disagreement`.
    sizes : sequence of int
    rule : GateRule
        Its `power` is the probability wanted throughout.
    total : int, optional
        Examples in the full benchmark; None for an unlimited supply.
    """
    return Power(
        disagreement=disagreement,
        difference=difference,
        probability=rule.power,
        confidence=rule.confidence,
        benchmark=total,
        examples_to_order=examples_to_order(disagreement, difference, rule.power, total),
        examples_to_decide=examples_needed(disagreement, -difference, rule),
        by_size=tuple(_at_size(size, disagreement, rule, total) for size in sizes),
    )


def examples_to_order(
    disagreement: float, difference: float, probability: float, total: int | None = None
) -> int | None:
    """Fewest random examples that order two models rightly (ties count half).

    None when not even the whole benchmark does; that happens only for a difference of
    less than one example.
    """
    if total is not None:
        gap = round(difference * total)
        if gap < 1:
            return None
        return _first(lambda n: order_agreement(disagreement, difference, n, total) >= probability, total)
    z = float(special.ndtri(probability))
    guess = z**2 * (disagreement - difference**2) / difference**2
    if guess > EXACT_UP_TO:
        return math.ceil(guess)
    return _first(lambda n: order_agreement(disagreement, difference, n) >= probability, 4 * EXACT_UP_TO)


def order_agreement(disagreement: float, difference: float, n: int, total: int | None = None) -> float:
    """Probability that n random examples order two models rightly, ties counting half.

    Exact: hypergeometric from `total` examples, binomial from an unlimited supply, but for
    numbers of discordant examples that have a chance below e^−40 (Bernstein); normal where
    a thousand of many examples are discordant.
    """
    rate = max(disagreement, difference)
    if n > EXACT_UP_TO and n * rate > MANY:
        left = 1.0 if total is None else (total - n) / (total - 1)
        error = math.sqrt(max(rate - difference**2, 0) / n * left)
        return float(special.ndtr(difference / error)) if error > 0 else 1.0
    if total is not None:
        gap = round(difference * total)
        better = min((round(rate * total) + gap + 1) // 2, (total + gap) // 2)
        outcome = random_agreement(total, np.array([better]), np.array([better - gap]), np.array([n]))
        return float(outcome.half_credit[0, 0])
    discordant = np.arange(n + 1)[likely(n, rate)]
    log = special.gammaln(n + 1) - special.gammaln(discordant + 1) - special.gammaln(n - discordant + 1)
    chance = np.exp(log + special.xlogy(discordant, rate) + special.xlog1py(n - discordant, -rate))
    share = (1 + difference / rate) / 2
    more = special.bdtrc(discordant // 2, discordant, share)
    least = special.bdtrc((discordant - 1) // 2, discordant, share)
    lead = np.where(discordant == 0, 0.5, np.where(discordant % 2 == 0, (more + least) / 2, more))
    return float(chance @ lead)


def mdad(disagreement: float, n: int, probability: float, total: int | None = None) -> float | None:
    """Smallest difference that n random examples order rightly with this probability.

    Two models further apart than they disagree disagree that much more. In steps of one
    example of the benchmark, or of 1/4096 (2⁻²⁰ where the examples are many).
    """
    steps = total or (4096 if n <= EXACT_UP_TO else 2**20)
    if order_agreement(disagreement, 1.0, n, total) < probability:
        return None
    found = _first(lambda k: order_agreement(disagreement, k / steps, n, total) >= probability, steps)
    return None if found is None else found / steps


def measured_size(sizes: Sequence[int], mdads: Sequence[float | None], difference: float) -> int | None:
    """Smallest size whose measured MDAD, and that of every larger size, is at most `difference`."""
    found = None
    for size, reach in sorted(zip(sizes, mdads, strict=True), reverse=True):
        if reach is None or reach > difference:
            break
        found = size
    return found


def group_disagreement(scores: NDArray[np.generic]) -> GroupDisagreement:
    """Disagreement of every pair of models, shape (M, N), M ≥ 2, complete.

    For graded scores the mean squared difference, which takes its place in every formula.
    """
    values = scores.astype(np.float64)
    squares = (values**2).sum(axis=1)
    rates = (squares[:, None] + squares - 2 * values @ values.T) / values.shape[1]
    pairs = rates[np.triu_indices(len(values), 1)]
    lower, median, upper = np.quantile(pairs, (0.25, 0.5, 0.75))
    return GroupDisagreement(float(median), float(lower), float(upper), len(pairs))


def near_margin(scores: NDArray[np.float64], margin: float, width: float) -> NearMargin:
    """Count pairs of models whose full scores lie apart by margin ± width.

    Parameters
    ----------
    scores : ndarray of float64, shape (M,)
        Full scores, M ≥ 2.
    margin, width : float
    """
    first, second = np.triu_indices(len(scores), 1)
    gaps = np.abs(scores[first] - scores[second])
    at_most = gaps <= margin + EQUAL
    below, above = gaps[at_most], gaps[~at_most]
    return NearMargin(
        pairs=len(gaps),
        near=int((np.abs(gaps - margin) <= width + EQUAL).sum()),
        closest_below=float(below.max()) if len(below) else None,
        closest_above=float(above.min()) if len(above) else None,
    )


def _at_size(size: int, disagreement: float, rule: GateRule, total: int | None) -> SizePower:
    reach = mdad(disagreement, size, rule.power, total)
    if size > EXACT_UP_TO:
        error = math.sqrt(disagreement / size)
        drop = normal_detectable_drop(error, rule)
        return SizePower(size, reach, drop, normal_fail_probability(error, rule, 0.0), True, True)
    gate = Gate.build(size, rule)
    return SizePower(
        size=size,
        mdad=reach,
        smallest_detectable_drop=smallest_detectable_drop(gate, disagreement),
        false_alarm_rate=gate.fail_probability(disagreement, 0.0),
        can_pass=gate.can_pass,
        can_fail=gate.can_fail,
    )


def _first(holds: Callable[[int], bool], most: int) -> int | None:
    """Smallest of 1 … most for which a monotone condition holds."""
    if not holds(most):
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
