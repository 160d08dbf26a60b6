"""The answers so far → estimate, interval, and whether the question is decided.

The interval of a look is the one `compare` gives, at a confidence so high that the intervals of all
looks hold together: an interval that excludes the margin decides, whenever that happens. A gate
that fails only when a drop is shown also stops when one can hardly be shown any more (futility):
it then passes, as it would at the end. Stopping so never adds to the false fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from service.engine.comparison.few_answers import with_few
from service.engine.comparison.full_scores import EstimatorUsed, FullScores
from service.engine.comparison.gate import GateRule
from service.engine.comparison.intervals import Interval, critical
from service.engine.comparison.paired import (
    Modelled,
    PairedScores,
    difference,
    modelled_difference,
)
from service.engine.comparison.sampling_design import Design, Truth
from service.engine.comparison.sequential.looks import LookPlan
from service.engine.comparison.sequential.prepared import Prepared
from service.engine.comparison.sequential.question import Question

Floats = NDArray[np.float64]
Decision = Literal["pass", "fail", "inconclusive", "known"]
_ROUNDING = 1e-12
_DRAWN = 70
"""Answers with which the skewness of their errors is drawn half to 0: of few it is hardly known."""
_PLAIN: EstimatorUsed = "plain"
FUTILE = 0.05
"""Chance to show a drop within the budget below which a regression gate stops asking."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found.

    Attributes
    ----------
    size : int
        Examples asked and answered, with or without a score.
    scored : int
        Those with a score.
    estimate : float
        Of candidate − baseline, or of the candidate's full score.
    standard_error : float
    interval : (float, float)
        Holds together with those of all other looks.
    critical : float
        Standard errors that the interval reaches by the plan, before Student's t.
    error_spent : float
        Two-sided, up to this look.
    decision : str, optional
        None while undecided; `known` of a score.
    futile : bool
        Whether the session ends because a drop can hardly be shown any more.
    chance : float
        Estimated chance that it is decided within the budget, 1 when it is.
    estimator : str
    """

    size: int
    scored: int
    estimate: float
    standard_error: float
    interval: Interval
    critical: float
    error_spent: float
    decision: Decision | None
    futile: bool
    chance: float
    estimator: EstimatorUsed


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    estimate: float
    error: float
    interval: Interval
    scored: int
    used: EstimatorUsed


def look(prepared: Prepared, plan: LookPlan, question: Question, answers: Floats, number: int) -> Look:
    """Look at the answers.

    Parameters
    ----------
    prepared : Prepared
    plan : LookPlan
    question : Question
    answers : ndarray of float64, shape (n,)
        To the first n examples of the order, n = `plan.sizes[number]`; NaN where there is no score.
        One score at least.
    number : int
        Of the look, from 0.
    """
    confidence = plan.confidence(number)
    if question.precision is None:
        found = _difference(prepared, question, answers, confidence)
        decision, futile, chance = _gate(found, plan, question.rule, number)
    else:
        found = _score(prepared, question, answers, confidence)
        decision, futile, chance = _known(found, plan, question.precision, number)
    return Look(
        size=len(answers),
        scored=found.scored,
        estimate=found.estimate,
        standard_error=found.error,
        interval=found.interval,
        critical=plan.critical[number],
        error_spent=plan.spent[number],
        decision=decision,
        futile=futile,
        chance=1.0 if decision is not None else chance,
        estimator=found.used,
    )


def _difference(prepared: Prepared, question: Question, answers: Floats, confidence: float) -> _Found:
    baseline = prepared.known.baseline
    if baseline is None:
        raise ValueError("a gate needs a baseline")
    own = baseline[prepared.order[: len(answers)]]
    there = ~np.isnan(answers)
    pairs = PairedScores(
        own[there],
        answers[there],
        Design.random(int(there.sum()), prepared.examples),
        _clusters(prepared, there),
        _noise(question, int(there.sum())),
    )
    full = _full_scores(prepared, answers, there, own)
    truth: Truth = "full_benchmark" if question.run_variance is None else "runs"
    if full is None:
        found, used = difference(pairs, confidence, truth), _PLAIN
    else:
        found = modelled_difference(pairs, _modelled(full, question, len(pairs.baseline)), confidence, truth)
        used = full.used
    return _Found(found.difference, found.standard_error, found.interval, len(pairs.baseline), used)


def _score(prepared: Prepared, question: Question, answers: Floats, confidence: float) -> _Found:
    there = ~np.isnan(answers)
    baseline = prepared.known.baseline
    own = None if baseline is None else baseline[prepared.order[: len(answers)]]
    full = _full_scores(prepared, answers, there, own)
    scored = int(there.sum())
    if full is None:
        mean = float(answers.mean())
        return _Found(mean, 0.0, (mean, mean), scored, _PLAIN)
    variance = float(full.variance[-1])
    if question.run_variance is not None:
        variance += question.run_variance * float((full.coefficients[-1] ** 2).sum())
    half = critical(confidence, full.freedom) * variance**0.5
    estimate = float(full.scores[-1])
    interval = max(estimate - half, float(full.low[-1])), min(estimate + half, float(full.high[-1]))
    if full.used != "predicted":
        interval = with_few(interval, answers, there, prepared.examples, confidence)
    return _Found(estimate, variance**0.5, interval, scored, full.used)


def _full_scores(
    prepared: Prepared, answers: Floats, there: NDArray[np.bool_], own: Floats | None
) -> FullScores | None:
    """None where every example of the benchmark has its score, or the paired answers alone are better."""
    if int(there.sum()) == prepared.examples:
        return None
    rows = np.where(there, answers, np.nan)[None]
    if own is not None:
        rows = np.vstack((np.where(there, own, np.nan), rows))
    clusters = None
    if prepared.known.clusters is not None:
        clusters = prepared.known.clusters[prepared.order[: len(answers)]]
    full = prepared.evidence(len(answers)).scores(rows, prepared.known.baseline, clusters)
    return None if full.used == "plain" and own is not None else full


def _modelled(full: FullScores, question: Question, count: int) -> Modelled:
    runs = 0.0
    if question.run_variance is not None:
        runs = float((full.coefficients[1] ** 2).sum() + full.baseline_noise[1]) * question.run_variance
    return Modelled(
        baseline=float(full.scores[0]),
        candidate=float(full.scores[1]),
        standard_error=float(full.of_differences[0, 1]) ** 0.5,
        kind="model" if full.used == "predicted" else "assisted",
        freedom=full.freedom,
        run_variance=runs,
        baseline_known=True,
        skewness=float(full.skewness[1]) * count**2 / (count**2 + _DRAWN**2),
    )


def _clusters(prepared: Prepared, there: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """Of the examples with a score, numbered as they occur."""
    if prepared.known.clusters is None:
        return None
    asked = prepared.known.clusters[prepared.order[: len(there)]]
    return np.unique(asked[there], return_inverse=True)[1].astype(np.int64)


def _noise(question: Question, count: int) -> Floats | None:
    """Of each difference, two runs."""
    return None if question.run_variance is None else np.full(count, 2 * question.run_variance)


def _gate(found: _Found, plan: LookPlan, rule: GateRule, number: int) -> tuple[Decision | None, bool, float]:
    low, high = found.interval
    if low == high:
        rounding = -_ROUNDING if rule.preset == "improvement" else _ROUNDING
        return "pass" if low > rule.threshold - rounding else "fail", False, 1.0
    if high < rule.threshold:
        return "fail", False, 1.0
    if low > rule.threshold:
        return "pass", False, 1.0
    below, above = _chances(found, plan, rule.threshold, number)
    last = number == len(plan.sizes) - 1
    if rule.preset == "regression":
        futile = not last and below < FUTILE
        return ("pass" if last or futile else None), futile, min(below + above, 1.0)
    return ("inconclusive" if last else None), False, min(below + above, 1.0)


def _chances(found: _Found, plan: LookPlan, threshold: float, number: int) -> tuple[float, float]:
    """Chance that the budget's last interval lies below, and above, the threshold.

    Given Z at the information's share t, that at its end is N(Z/√t, (1 − t)/t) (Lan & Wittes 1988,
    Biometrics 44:579, with the estimate as the truth).
    """
    if found.error == 0:
        return 0.0, 0.0
    z, share = (found.estimate - threshold) / found.error, plan.share(number)
    if share == 0:
        # The whole benchmark will be known: what counts is on which side of the threshold it lies.
        return float(ndtr(-z)), float(ndtr(z))
    reach, spread = plan.critical[-1], max((1 - share) / share, 1e-12) ** 0.5
    end = z / share**0.5
    return float(ndtr((-reach - end) / spread)), float(ndtr((end - reach) / spread))


def _known(
    found: _Found, plan: LookPlan, precision: float, number: int
) -> tuple[Decision | None, bool, float]:
    half = (found.interval[1] - found.interval[0]) / 2
    if half <= precision:
        return "known", False, 1.0
    if number == len(plan.sizes) - 1:
        return "inconclusive", False, 1.0
    share = plan.share(number)
    reached = half * share**0.5 * plan.critical[-1] / plan.critical[number]
    return None, False, float(reached <= precision)
