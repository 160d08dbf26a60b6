"""What a gate can do at the size it has: said beside every verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from service.engine.comparison.gate import (
    EXACT_UP_TO,
    Gate,
    GateRule,
    examples_needed,
    normal_detectable_drop,
    normal_fail_probability,
    smallest_detectable_drop,
)
from service.engine.comparison.paired import Estimate, PairedScores, difference
from service.engine.comparison.sampling_design import Truth


@dataclass(frozen=True, slots=True)
class OperatingCharacteristics:
    """Operating characteristics.

    Attributes
    ----------
    false_alarm_rate : float
        Probability that an identical model fails, at the disagreement seen.
    false_alarm_limit : float
        Most it may be for a model exactly at the margin.
    smallest_detectable_drop : float, optional
        Smallest true drop that fails with the rule's power; None when none does.
    examples_needed : int, optional
        Examples after which a difference as observed is decided with that power.
    examples_needed_reason : str, optional
        Why there is no such number.
    examples_to_pass_if_equal : int, optional
        Examples after which an equal model passes with that power; None without a margin.
    can_pass, can_fail : bool
        Whether any outcome at this size does.
    """

    false_alarm_rate: float
    false_alarm_limit: float
    smallest_detectable_drop: float | None
    examples_needed: int | None
    examples_needed_reason: str | None
    examples_to_pass_if_equal: int | None
    can_pass: bool
    can_fail: bool


def operating_characteristics(
    pairs: PairedScores, estimate: Estimate, rule: GateRule, truth: Truth
) -> OperatingCharacteristics:
    """Operating characteristics of the gate that made `estimate`."""
    rate = _rate(pairs, estimate)
    scale = _scale(pairs, estimate, rule)
    needed = _needed(pairs, examples_needed(rate, estimate.difference, rule), scale, truth)
    equal = examples_needed(rate, 0.0, rule) if rule.margin > 0 else None
    alarm, drop, can_pass, can_fail = _characteristics(estimate, rule, rate)
    return OperatingCharacteristics(
        false_alarm_rate=alarm,
        false_alarm_limit=rule.false_alarm_limit,
        smallest_detectable_drop=drop,
        examples_needed=needed,
        examples_needed_reason=None if needed else "the difference is exactly at the margin",
        examples_to_pass_if_equal=_needed(pairs, equal, scale, truth),
        can_pass=can_pass,
        can_fail=can_fail,
    )


def _characteristics(
    estimate: Estimate, rule: GateRule, rate: float
) -> tuple[float, float | None, bool, bool]:
    if estimate.kind == "score" and estimate.size <= EXACT_UP_TO:
        gate = Gate.build(max(1, round(estimate.size)), rule)
        drop = smallest_detectable_drop(gate, rate)
        return gate.fail_probability(rate, 0.0), drop, gate.can_pass, gate.can_fail
    error, freedom = estimate.standard_error, estimate.freedom
    drop = normal_detectable_drop(error, rule, freedom)
    alarm = normal_fail_probability(error, rule, 0.0, freedom)
    return alarm, drop if drop <= 1 else None, True, True


def _rate(pairs: PairedScores, estimate: Estimate) -> float:
    """Disagreement, with one example added each way so that it is never 0."""
    size = estimate.size if np.isfinite(estimate.size) else len(pairs.differences)
    return (pairs.movement * size + 1) / (size + 2)


def _scale(pairs: PairedScores, estimate: Estimate, rule: GateRule) -> float:
    """Examples of this kind that tell as much as one independent 0/1 example."""
    size = estimate.size
    if estimate.kind != "model":
        size = difference(pairs, rule.confidence).size
    return len(pairs.differences) / max(float(size), 1e-9)


def _needed(pairs: PairedScores, independent: int | None, scale: float, truth: Truth) -> int | None:
    if independent is None:
        return None
    needed = independent * scale
    if truth == "full_benchmark":
        total = pairs.design.total
        needed = needed * total / (needed + total - 1)
    return max(1, math.ceil(needed))
