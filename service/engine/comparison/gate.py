"""The verdict, and what the gate that gives it can and cannot do.

Three presets, one interval of candidate − baseline, one threshold. `margin` is the largest
drop that is acceptable (`improvement`: the gain that must be exceeded); 0: none.

    preset           threshold   interval above it   below it   holds it
    regression       −margin     pass                fail       pass: no drop is shown
    non_inferiority  −margin     pass                fail       inconclusive
    improvement      +margin     pass                fail       inconclusive

The interval is two-sided at `confidence`, so that a candidate exactly at the threshold is
meant to fail with probability (1 − confidence) / 2, and to be shown above it with the same.
What it does at a given size is computed, not assumed: with few examples that differ it is up
to 0.03 more. When nothing is unknown (the full benchmark) a candidate exactly at −margin passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.engine.comparison.intervals import Interval, critical
from service.engine.comparison.mcnemar import mid_p
from service.engine.comparison.paired import score_statistic

Verdict = Literal["pass", "fail", "inconclusive"]
Preset = Literal["regression", "non_inferiority", "improvement"]

# Above this the normal approximation of the gate's behaviour is within 0.002 of the exact one.
EXACT_UP_TO = 5_000


@dataclass(frozen=True, slots=True)
class GateRule:
    """How a gate decides.

    Attributes
    ----------
    margin : float
        Largest acceptable drop, ≥ 0; of `improvement` the gain to exceed.
    confidence : float
        Of the two-sided interval the verdict rests on.
    power : float
        Probability with which a drop is to be found, for everything that says
        "detectable" or "needed".
    preset : "regression", "non_inferiority" or "improvement"
        What the gate is for.
    coverage : float
        Share of the examples asked that both must have answered for a verdict.
    subtask_margin : float, optional
        Largest acceptable drop of any subtask; None where subtasks do not decide.
    """

    margin: float = 0.0
    confidence: float = 0.95
    power: float = 0.8
    preset: Preset = "non_inferiority"
    coverage: float = 0.0
    subtask_margin: float | None = None

    @property
    def threshold(self) -> float:
        """The difference, candidate − baseline, that the verdict turns on."""
        return self.margin if self.preset == "improvement" else -self.margin

    @property
    def level(self) -> float:
        """Two-sided level of the tests beside the interval, 1 − confidence."""
        return round(1 - self.confidence, 12)


def verdict(interval: Interval, rule: GateRule) -> Verdict:
    """The one rule of this service, from a two-sided interval of candidate − baseline."""
    low, high = interval
    if low > rule.threshold:
        return "pass"
    if low == high == rule.threshold:
        return "fail" if rule.preset == "improvement" else "pass"
    if high < rule.threshold:
        return "fail"
    return "pass" if rule.preset == "regression" else "inconclusive"


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A gate at a given size, 0/1 scores: which counts it fails and passes.

    Attributes
    ----------
    size : int
        Examples, or the nearest whole effective size.
    rule : GateRule
    discordant : ndarray of int64, shape (size + 1,)
        0 … size, every number of examples that may tell the two apart.
    fails_from : ndarray of int64, shape (size + 1,)
        Fewest losses that fail, for each; discordant + 1 where none do.
    passes_to : ndarray of int64, shape (size + 1,)
        Most losses that pass, for each; −1 where none do.
    """

    size: int
    rule: GateRule
    discordant: NDArray[np.int64]
    fails_from: NDArray[np.int64]
    passes_to: NDArray[np.int64]

    @classmethod
    def build(cls, size: int, rule: GateRule) -> Gate:
        """Find both thresholds for every count, by bisection on the losses.

        The last few are kept: many candidates on the same examples meet the same gate.
        """
        return _built(size, rule)

    @property
    def can_fail(self) -> bool:
        """Whether any outcome at this size fails."""
        return bool((self.fails_from <= self.discordant).any())

    @property
    def can_pass(self) -> bool:
        """Whether any outcome at this size passes."""
        return bool((self.passes_to >= 0).any())

    def fail_probability(self, disagreement: float, drop: float) -> float:
        """Probability of `fail` for a true drop, at this rate of disagreement."""
        return self._probability(self.fails_from, disagreement, drop)

    def pass_probability(self, disagreement: float, drop: float) -> float:
        """Probability of `pass` for a true drop (negative: a gain)."""
        return 1 - self._probability(self.passes_to + 1, disagreement, drop)

    def _probability(self, losses: NDArray[np.int64], disagreement: float, drop: float) -> float:
        """P(losses at or above the threshold), the losses trinomial."""
        rate = min(max(disagreement, abs(drop)), 1.0)
        if rate == 0:
            return float(losses[0] <= 0)
        share = (1 + drop / rate) / 2
        part = likely(self.size, rate)
        chance = _binomial(self.discordant[part], self.size, rate)
        return float(chance @ _tail(losses[part], self.discordant[part], share))


@lru_cache(maxsize=16)
def _built(size: int, rule: GateRule) -> Gate:
    discordant = np.arange(size + 1)
    fails = _least(discordant, lambda losses: _fails(discordant, losses, size, rule))
    passes = fails - 1
    if rule.preset != "regression":
        passes = _least(discordant, lambda losses: ~_passes(discordant, losses, size, rule)) - 1
    for table in (discordant, fails, passes):
        table.setflags(write=False)
    return Gate(size, rule, discordant, fails, passes)


def smallest_detectable_drop(gate: Gate, disagreement: float) -> float | None:
    """Smallest true drop that fails with the rule's power; None when none does.

    A drop larger than the rate of disagreement takes that rate with it.
    """
    power = gate.rule.power
    if gate.fail_probability(disagreement, 1.0) < power:
        return None
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        reached = gate.fail_probability(disagreement, middle) >= power
        low, high = (low, middle) if reached else (middle, high)
    return high


def smallest_detectable_gain(gate: Gate, disagreement: float) -> float | None:
    """Smallest true gain that passes with the rule's power; None when none does."""
    power = gate.rule.power
    if gate.pass_probability(disagreement, -1.0) < power:
        return None
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        reached = gate.pass_probability(disagreement, -middle) >= power
        low, high = (low, middle) if reached else (middle, high)
    return high


def normal_detectable_drop(standard_error: float, rule: GateRule, freedom: float = 0) -> float:
    """The same for an estimate with a normal error, or Student's t when `freedom` is given."""
    shift = float(special.stdtrit(freedom, rule.power)) if freedom else _quantile(rule.power)
    reach = (critical(rule.confidence, freedom) + shift) * standard_error
    return max(reach - rule.threshold, 0.0)


def normal_fail_probability(standard_error: float, rule: GateRule, drop: float, freedom: float = 0) -> float:
    """Probability of `fail` for such an estimate."""
    if standard_error == 0:
        return float(-drop < rule.threshold)
    reach = (drop + rule.threshold) / standard_error - critical(rule.confidence, freedom)
    return float(special.stdtr(freedom, reach) if freedom else special.ndtr(reach))


def normal_pass_probability(standard_error: float, rule: GateRule, drop: float, freedom: float = 0) -> float:
    """Probability of `pass` for such an estimate."""
    if rule.preset == "regression" or standard_error == 0:
        return 1 - normal_fail_probability(standard_error, rule, drop, freedom)
    reach = (-drop - rule.threshold) / standard_error - critical(rule.confidence, freedom)
    return float(special.stdtr(freedom, reach) if freedom else special.ndtr(reach))


def examples_needed(disagreement: float, difference: float, rule: GateRule) -> int | None:
    """Independent examples after which the gate decides with the rule's power.

    (z_{α/2} √(D − m²) + z_power √(D − δ²))² / (δ − t)², D the disagreement, δ the true
    difference, t = ±m the threshold (Connor 1987, Biometrics 43:207, moved to the threshold).
    None when the difference is exactly the threshold: no number of examples decides that.
    """
    distance = difference - rule.threshold
    rate = max(disagreement, abs(difference), rule.margin)
    if abs(distance) < 1e-12:
        return None
    spread = critical(rule.confidence) * math.sqrt(rate - rule.margin**2)
    spread += _quantile(rule.power) * math.sqrt(rate - difference**2)
    return max(1, math.ceil((spread / distance) ** 2))


def likely(n: int, rate: float) -> slice:
    """What X ~ Binomial(n, rate) may be, but for a chance below e^−40 (Bernstein)."""
    reach = 40 / 3 + ((40 / 3) ** 2 + 80 * n * rate * (1 - rate)) ** 0.5
    return slice(max(0, math.floor(n * rate - reach)), min(n, math.ceil(n * rate + reach)) + 1)


def _fails(
    discordant: NDArray[np.int64], losses: NDArray[np.int64], n: int, rule: GateRule
) -> NDArray[np.bool_]:
    gains = discordant - losses
    below = score_statistic(gains, losses, n, rule.threshold) < -critical(rule.confidence)
    if rule.threshold > 0:
        return below
    return below & (losses > gains) & (mid_p(gains, losses) <= rule.level)


def _passes(
    discordant: NDArray[np.int64], losses: NDArray[np.int64], n: int, rule: GateRule
) -> NDArray[np.bool_]:
    gains = discordant - losses
    above = score_statistic(gains, losses, n, rule.threshold) > critical(rule.confidence)
    if rule.threshold < 0:
        return above
    return above & (gains > losses) & (mid_p(gains, losses) <= rule.level)


def _least(
    discordant: NDArray[np.int64], holds: Callable[[NDArray[np.int64]], NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """Fewest losses, 0 … d, for which a monotone condition holds; d + 1 where it never does."""
    low, high = np.zeros_like(discordant), discordant + 1
    for _ in range(int(discordant[-1] + 1).bit_length()):
        middle = (low + high) // 2
        reached = holds(np.minimum(middle, discordant)) | (middle > discordant)
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
        low = np.minimum(low, high)
    return high


def _binomial(k: NDArray[np.int64], n: int, rate: float) -> NDArray[np.float64]:
    """P(X = k) for X ~ Binomial(n, rate)."""
    log = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.asarray(np.exp(log + special.xlogy(k, rate) + special.xlog1py(n - k, -rate)))


def _tail(k: NDArray[np.int64], n: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """P(X ≥ k) for X ~ Binomial(n, share), elementwise."""
    inside = (k > 0) & (k <= n)
    tail = special.betainc(np.where(inside, k, 1), np.where(inside, n - k + 1, 1), share)
    return np.where(k <= 0, 1.0, np.where(inside, tail, 0.0))


def _quantile(probability: float) -> float:
    return float(special.ndtri(probability))
