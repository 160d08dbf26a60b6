"""How many examples, and how many attempts at each, a number of runs is best spent on.

The difference of two models' scores on n of N examples with k attempts each has the variance
σ_b²/n · (1 − n/N) + σ_w²/(n·k): σ_b² is the variance, between examples, of the difference in the chance
to pass, which a subset pays for; σ_w² that of one attempt of each model around it, which repeats shrink.
With n·k fixed the second term is too, so attempts beyond the first are only worth it once every example
has one. Two-stage sampling: Cochran 1977, Sampling Techniques, section 10.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from service.engine.data.attempt_scores import ErrorPolicy, counting
from service.engine.data.attempts import AttemptsError, ModelAttempts

Floats = NDArray[np.float64]
MOST_ALTERNATIVES = 5


@dataclass(frozen=True, slots=True)
class AttemptVariance:
    """Variance of the difference of two models on one example.

    Attributes
    ----------
    between : float
        Between examples, of the difference in expected score.
    within : float
        Of the difference of one attempt each, around it.
    pairs : int
        Pairs of models that these are the medians of; 0 where they were given.
    """

    between: float
    within: float
    pairs: int = 0


@dataclass(frozen=True, slots=True)
class Spending:
    """One way to spend the budget.

    Attributes
    ----------
    examples, attempts : int
        How many examples, and attempts at each.
    standard_error : float
        Of the difference of two models' scores.
    detectable : float
        The difference that orders two models correctly with the probability asked for.
    """

    examples: int
    attempts: int
    standard_error: float
    detectable: float


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """The answer.

    Attributes
    ----------
    best : Spending
    others : tuple of Spending
        Fewer examples with more attempts each, for the same number of runs.
    repeats_wasted : bool
        Whether the budget is better spent on examples than on a second attempt.
    false_alarm : float
        Probability that one attempt each at every example of the best plan shows a drop of more than the
        margin between two runs of one model.
    """

    runs: int
    variance: AttemptVariance
    best: Spending
    others: tuple[Spending, ...]
    repeats_wasted: bool
    false_alarm: float

    def as_json(self) -> dict[str, Any]:
        """As a result has it."""
        return {
            "runs": self.runs,
            "between_variance": self.variance.between,
            "within_variance": self.variance.within,
            "pairs": self.variance.pairs,
            "best": asdict(self.best),
            "others": [asdict(other) for other in self.others],
            "repeats_wasted": self.repeats_wasted,
            "false_alarm": self.false_alarm,
            "statement": self.statement,
        }

    @property
    def statement(self) -> str:
        """The answer as a sentence."""
        best = self.best
        each = "one attempt" if best.attempts == 1 else f"{best.attempts} attempts"
        why = (
            "a second attempt is better spent on another example"
            if self.repeats_wasted
            else "every example has an attempt, so only repeats are left to buy"
        )
        return (
            f"With {self.runs} runs of each model, run {best.examples} examples with {each} each: {why}. "
            f"This orders models {best.detectable:.1%} apart; with one attempt each, two runs of one model "
            f"show a drop beyond the margin in {self.false_alarm:.1%} of comparisons."
        )


def difference_variance(variance: AttemptVariance, examples: int, attempts: int, total: int) -> float:
    """Variance of the difference on a random `examples` of `total` with `attempts` at each."""
    subset = variance.between / examples * (1 - examples / total)
    return subset + variance.within / (examples * attempts)


def attempt_variance(
    attempts: Sequence[ModelAttempts], errors: ErrorPolicy = "missing", within: float | None = None
) -> AttemptVariance:
    """The median pair's variances, from the attempts of M models with a score.

    Variances between examples are of the observed means without what their attempts add to them.

    Parameters
    ----------
    errors : "zero", "missing" or "refuse"
        Whether attempts without a score count as 0.
    within : float, optional
        Known variance of the difference of one attempt each; from the repeats when left out.

    Raises
    ------
    AttemptsError
        Fewer than two models, or than two examples that all models have a score on, or no repeats.
    """
    moments = [_moments(mine, errors) for mine in attempts]
    count, mean, spread = (np.array(part) for part in zip(*moments, strict=True))
    common = (count > 0).all(axis=0)
    if len(attempts) < 2 or common.sum() < 2:
        raise AttemptsError("budget", "it takes two models with scores on two examples in common.")
    single = [_single(n, s) if within is None else within / 2 for n, s in zip(count, spread, strict=True)]
    known = [one for one in single if one is not None]
    if not known:
        raise AttemptsError(
            "budget",
            "no example has two attempts, so how much attempts vary is not known; send within_variance: of "
            "the difference of one attempt each, 2 p (1 − p) on average.",
        )
    each = np.array([float(np.mean(known)) if one is None else one for one in single])
    noise = each * (1 / count[:, common]).mean(axis=1)
    covariance = np.cov(mean[:, common])
    own = np.diag(covariance) - noise
    first, second = np.triu_indices(len(attempts), 1)
    between = own[first] + own[second] - 2 * covariance[first, second]
    return AttemptVariance(
        between=float(np.median(np.maximum(between, 0))),
        within=float(np.median(each[first] + each[second])),
        pairs=len(first),
    )


def plan_budget(
    runs: int, total: int, variance: AttemptVariance, *, probability: float, margin: float
) -> BudgetPlan:
    """How to spend `runs` runs of each model on a benchmark of `total` examples.

    Parameters
    ----------
    probability : float
        With which two models are to be ordered correctly.
    margin : float
        The drop that `false_alarm` is about, a fraction.
    """
    most = min(runs, total)
    plans = [_spend(runs // k, k, total, variance, probability) for k in _numbers(runs, most)]
    best = min(plans, key=lambda plan: (plan.standard_error, plan.attempts))
    others = [plan for plan in plans if plan is not best][:MOST_ALTERNATIVES]
    deviation = np.sqrt(best.examples * variance.within)
    # The difference of 0/1 attempts is a whole number of examples, so a half step is added for continuity.
    drop = np.floor(margin * best.examples + 1e-9) + 1
    alarm = norm.cdf((0.5 - drop) / deviation) if deviation > 0 else 0.0
    return BudgetPlan(
        runs=runs,
        variance=variance,
        best=best,
        others=tuple(others),
        repeats_wasted=best.attempts == 1,
        false_alarm=float(alarm),
    )


def _numbers(runs: int, most: int) -> list[int]:
    """Numbers of attempts to consider: from the least that uses the budget."""
    least = max(1, runs // most)
    return [k for k in range(least, least + MOST_ALTERNATIVES + 1) if runs // k >= 1]


def _spend(
    examples: int, attempts: int, total: int, variance: AttemptVariance, probability: float
) -> Spending:
    used = min(examples, total)
    error = float(np.sqrt(difference_variance(variance, used, attempts, total)))
    return Spending(used, attempts, error, float(norm.ppf(probability)) * error)


def _moments(mine: ModelAttempts, errors: ErrorPolicy) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Number, mean and sum of squared deviations of the attempts that count at each example."""
    scored = np.isin(mine.outcomes, counting(errors))
    at, values = mine.examples[scored], mine.values[scored].astype(np.float64)
    size = len(mine.counts)
    count = np.bincount(at, minlength=size).astype(np.int64)
    mean = np.bincount(at, values, minlength=size) / np.maximum(count, 1)
    spread = np.bincount(at, (values - mean[at]) ** 2, minlength=size).astype(np.float64)
    return count, mean, spread


def _single(count: NDArray[np.int64], spread: Floats) -> float | None:
    """Mean variance of one attempt, over the examples with two or more; None where there are none."""
    several = count > 1
    return float((spread[several] / (count[several] - 1)).mean()) if several.any() else None
