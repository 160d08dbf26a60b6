"""A gate somebody already has: "fail below 0.70". How often is it wrong?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from service.engine.comparison.intervals import wilson


@dataclass(frozen=True, slots=True)
class ThresholdRates:
    """How a threshold behaves on n examples.

    Attributes
    ----------
    threshold : float
        Scores below it fail.
    n : int
    false_fail : float
        Probability that a model of true score `score` fails.
    miss : float, optional
        Probability that a model of true score `bad_score` passes.
    run_deviation : float
        Standard deviation of the measured score of such a model.
    """

    threshold: float
    n: int
    false_fail: float
    miss: float | None
    run_deviation: float


@dataclass(frozen=True, slots=True)
class History:
    """What earlier runs of a healthy model say about a threshold.

    Attributes
    ----------
    runs : int
    mean, deviation : float
    failed : int
        Runs the threshold would have failed.
    false_fail, false_fail_interval : float, (float, float)
        Their share, with Wilson's interval.
    suggested : float
        Threshold the next run falls below with probability `false_fail_wanted`.
    """

    runs: int
    mean: float
    deviation: float
    failed: int
    false_fail: float
    false_fail_interval: tuple[float, float]
    suggested: float
    false_fail_wanted: float


def threshold_rates(threshold: float, n: int, score: float, bad_score: float | None = None) -> ThresholdRates:
    """Exact rates of "fail below `threshold`" on n 0/1 examples.

    Binomial even where the n are the whole benchmark: a true score is the model's, and
    every run of it comes out otherwise.

    Parameters
    ----------
    threshold, score, bad_score : float
    n : int
    """
    least = math.ceil(threshold * n - 1e-9)
    return ThresholdRates(
        threshold=threshold,
        n=n,
        false_fail=_at_most(least - 1, n, score),
        miss=None if bad_score is None else 1 - _at_most(least - 1, n, bad_score),
        run_deviation=math.sqrt(score * (1 - score) / n),
    )


def suggest_threshold(n: int, score: float, false_fail: float) -> float:
    """Highest threshold k/n that a model of true score `score` fails at most this often."""
    below = special.bdtr(np.arange(n + 1), n, score)
    return int(np.searchsorted(below, false_fail, side="right")) / n


def history(scores: Sequence[float], threshold: float, false_fail: float = 0.01) -> History:
    """Judge a threshold by earlier runs, and suggest one for the next.

    The suggestion is the lower prediction limit of one more run,
    mean − t · deviation · √(1 + 1/runs) (Hahn & Meeker 1991, section 4.8), within [0, 1].
    At least two runs.
    """
    runs, mean, deviation = len(scores), float(np.mean(scores)), float(np.std(scores, ddof=1))
    failed = sum(score < threshold for score in scores)
    low, high = wilson(failed, runs)
    quantile = float(special.stdtrit(runs - 1, false_fail))
    suggested = mean + quantile * deviation * math.sqrt(1 + 1 / runs)
    return History(
        runs=runs,
        mean=mean,
        deviation=deviation,
        failed=failed,
        false_fail=failed / runs,
        false_fail_interval=(float(low), float(high)),
        suggested=min(max(suggested, 0.0), 1.0),
        false_fail_wanted=false_fail,
    )


def _at_most(k: int, n: int, score: float) -> float:
    return 0.0 if k < 0 else float(special.bdtr(k, n, score))
