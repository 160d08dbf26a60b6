"""What a gate can do at the size it has, computed: given beside every verdict, and before anything is run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from service.engine.comparison.gate import (
    EXACT_UP_TO,
    Gate,
    GateRule,
    examples_needed,
    normal_detectable_drop,
    normal_fail_probability,
    normal_pass_probability,
    smallest_detectable_drop,
    smallest_detectable_gain,
)
from service.engine.comparison.intervals import critical
from service.engine.comparison.paired import Estimate, PairedScores, difference
from service.engine.comparison.sampling_design import Truth

DROPS = (0.0, 0.02, 0.05, 0.1)
"""True drops the probabilities are given for."""
MISSED = 0.05
"""How far below the margin a candidate is that a regression gate should not pass."""


@dataclass(frozen=True, slots=True)
class DropOutcome:
    """Probabilities of the outcomes for one true drop; what is left of 1 is inconclusive."""

    drop: float
    fail: float
    passes: float


@dataclass(frozen=True, slots=True)
class GateRates:
    """What a gate does, computed from its rule, its size and how often two models disagree.

    Attributes
    ----------
    false_fail_rate : float
        Probability that a candidate exactly at the threshold fails.
    false_pass_rate : float
        Probability that a candidate `false_pass_at` below the baseline passes: exactly at the
        threshold, but for `regression`, which passes that rightly, 5 points below it.
    false_pass_at : float
        A drop; negative for a gain.
    smallest_detectable_drop : float, optional
        Smallest true drop that fails with the rule's power; None when none does.
    smallest_detectable_gain : float, optional
        For `improvement` only: smallest true gain that passes with it.
    by_drop : tuple of DropOutcome
    can_pass, can_fail : bool
        Whether any outcome at this size does.
    """

    false_fail_rate: float
    false_pass_rate: float
    false_pass_at: float
    smallest_detectable_drop: float | None
    smallest_detectable_gain: float | None
    by_drop: tuple[DropOutcome, ...]
    can_pass: bool
    can_fail: bool


class _Probability(Protocol):
    def __call__(self, *, drop: float) -> float: ...


def exact_rates(gate: Gate, disagreement: float) -> GateRates:
    """Rates of a gate on 0/1 answers, summed over every outcome.

    Parameters
    ----------
    gate : Gate
    disagreement : float
        Share of examples only one of the two models gets right.
    """

    def fails(*, drop: float) -> float:
        return gate.fail_probability(disagreement, drop)

    def passes(*, drop: float) -> float:
        return gate.pass_probability(disagreement, drop)

    improve = gate.rule.preset == "improvement"
    return _rates(
        gate.rule,
        fails,
        passes,
        smallest_detectable_drop(gate, disagreement),
        smallest_detectable_gain(gate, disagreement) if improve else None,
        can=(gate.can_pass, gate.can_fail),
    )


def normal_rates(
    standard_error: float, rule: GateRule, freedom: float = 0, low_error: float | None = None
) -> GateRates:
    """Rates of a gate on an estimate with a normal error, or Student's t when `freedom` is given.

    The upper end of the interval fails a candidate; the lower end, which may have an error of
    its own, passes it. The preset `regression` passes whatever does not fail.
    """
    passing = standard_error if low_error is None or rule.preset == "regression" else low_error
    drop = normal_detectable_drop(standard_error, rule, freedom)
    gain = normal_detectable_drop(passing, rule, freedom) + 2 * rule.margin
    return _rates(
        rule,
        partial(_fail, standard_error, rule, freedom),
        partial(_pass, passing, rule, freedom),
        drop if drop <= 1 else None,
        gain if rule.preset == "improvement" and gain <= 1 else None,
        can=(True, True),
    )


def _fail(error: float, rule: GateRule, freedom: float, *, drop: float) -> float:
    return normal_fail_probability(error, rule, drop, freedom)


def _pass(error: float, rule: GateRule, freedom: float, *, drop: float) -> float:
    return normal_pass_probability(error, rule, drop, freedom)


def _rates(
    rule: GateRule,
    fails: _Probability,
    passes: _Probability,
    drop: float | None,
    gain: float | None,
    *,
    can: tuple[bool, bool],
) -> GateRates:
    wrongly = -rule.threshold + (MISSED if rule.preset == "regression" else 0.0)
    return GateRates(
        false_fail_rate=fails(drop=-rule.threshold),
        false_pass_rate=passes(drop=wrongly),
        false_pass_at=wrongly,
        smallest_detectable_drop=drop,
        smallest_detectable_gain=gain,
        by_drop=tuple(DropOutcome(at, fails(drop=at), passes(drop=at)) for at in DROPS),
        can_pass=can[0],
        can_fail=can[1],
    )


@dataclass(frozen=True, slots=True)
class OperatingCharacteristics:
    """Operating characteristics of the gate that gave a verdict.

    Attributes
    ----------
    false_alarm_rate : float
        Probability that an identical model fails, at the disagreement seen.
    false_alarm_limit : float
        The same for a model exactly at the threshold: computed, not the nominal level.
    examples_needed : int, optional
        Examples after which a difference as observed is decided with the rule's power.
    examples_needed_reason : str, optional
        Why there is no such number.
    examples_to_pass_if_equal : int, optional
        Examples after which an equal model is shown to be within the margin with that power;
        None without a margin, and for `improvement`.

    The others are those of `GateRates`.
    """

    false_alarm_rate: float
    false_alarm_limit: float
    smallest_detectable_drop: float | None
    examples_needed: int | None
    examples_needed_reason: str | None
    examples_to_pass_if_equal: int | None
    can_pass: bool
    can_fail: bool
    smallest_detectable_gain: float | None
    false_pass_rate: float
    false_pass_at: float
    by_drop: tuple[DropOutcome, ...]


def operating_characteristics(
    pairs: PairedScores, estimate: Estimate, rule: GateRule, truth: Truth
) -> OperatingCharacteristics:
    """Operating characteristics of the gate that made `estimate`."""
    rate = _rate(pairs, estimate)
    scale = _scale(pairs, estimate, rule)
    needed = _needed(pairs, examples_needed(rate, estimate.difference, rule), scale, truth)
    shown = rule.margin > 0 and rule.preset != "improvement"
    equal = examples_needed(rate, 0.0, rule) if shown else None
    rates = _characteristics(estimate, rule, rate)
    return OperatingCharacteristics(
        false_alarm_rate=rates.by_drop[0].fail,
        false_alarm_limit=rates.false_fail_rate,
        smallest_detectable_drop=rates.smallest_detectable_drop,
        examples_needed=needed,
        examples_needed_reason=None if needed else "the difference is exactly at the margin",
        examples_to_pass_if_equal=_needed(pairs, equal, scale, truth),
        can_pass=rates.can_pass,
        can_fail=rates.can_fail,
        smallest_detectable_gain=rates.smallest_detectable_gain,
        false_pass_rate=rates.false_pass_rate,
        false_pass_at=rates.false_pass_at,
        by_drop=rates.by_drop,
    )


def _characteristics(estimate: Estimate, rule: GateRule, rate: float) -> GateRates:
    if estimate.kind == "score" and estimate.size <= EXACT_UP_TO:
        return exact_rates(Gate.build(max(1, round(estimate.size)), rule), rate)
    # Where few answers or clusters widened the interval, the gate sees less than its standard error says.
    low, high = (
        max(
            estimate.standard_error,
            abs(end - estimate.difference) / critical(rule.confidence, estimate.freedom),
        )
        for end in estimate.interval
    )
    return normal_rates(high, rule, estimate.freedom, low)


def _rate(pairs: PairedScores, estimate: Estimate) -> float:
    """Disagreement, with one example added each way so that it is never 0."""
    size = estimate.size if np.isfinite(estimate.size) else len(pairs.differences)
    return (pairs.movement * size + 1) / (size + 2)


def _scale(pairs: PairedScores, estimate: Estimate, rule: GateRule) -> float:
    """Examples of this kind that tell as much as one independent 0/1 example."""
    size = estimate.size
    if estimate.kind not in ("model", "assisted"):
        size = difference(pairs, rule.confidence).size
    return len(pairs.differences) / max(float(size), 1e-9)


def _needed(pairs: PairedScores, independent: int | None, scale: float, truth: Truth) -> int | None:
    if independent is None:
        return None
    needed = independent * scale
    if truth != "population":
        total = pairs.design.total
        needed = needed * total / (needed + total - 1)
    return max(1, math.ceil(needed))
