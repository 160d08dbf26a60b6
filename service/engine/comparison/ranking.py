"""Many models at once: who is separable from whom, and between which ranks each lies.

JSON of the answer (`dataclasses.asdict`):

    {confidence, critical_value, family,                pairs compared at once
     separable_pairs, separable_neighbours,
     models: [{model (index), score, interval, rank, rank_interval: [best, worst],
               win_rate, difference_from_best, difference_from_best_interval, coverage}],  best first
     tie_groups: [[index]]}                             best first; a model may be in several

All pairwise statements hold together at `confidence`: Tukey's studentized range for
the critical value (Hochberg & Tamhane 1987, ch. 3), score intervals and mid-p for each
pair. A rank interval counts the models separated to either side (Al Mohamad et al.
2022, Biometrics 78:1577), and so all rank intervals hold together too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from service.engine.comparison.design import Design, Truth
from service.engine.comparison.intervals import Interval, critical, wilson_share
from service.engine.comparison.mcnemar import mid_p
from service.engine.comparison.paired import score_statistic, tango
from service.engine.comparison.scores import Estimator
from service.engine.errors import Undefined

Square = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One model's place; `model` is its row."""

    model: int
    score: float
    interval: Interval
    rank: int
    rank_interval: tuple[int, int]
    win_rate: float
    difference_from_best: float
    difference_from_best_interval: Interval
    coverage: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer; the module's docstring says what each part is."""

    confidence: float
    critical_value: float
    family: int
    separable_pairs: int
    separable_neighbours: int
    models: tuple[Ranked, ...]
    tie_groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Every pair's effective counts, shape (K, K): row ahead, column ahead, examples."""

    gain: Square
    loss: Square
    size: Square


def rank(
    scores: NDArray[np.float64],
    design: Design,
    confidence: float = 0.95,
    truth: Truth = "population",
    estimator: Estimator | None = None,
) -> Ranking:
    """Rank K models by their results on the same examples.

    Parameters
    ----------
    scores : ndarray of float64, shape (K, n)
        In [0, 1]; NaN where missing: a pair is compared on what both answered.
        K ≥ 2.
    design : Design
        Of the n examples.
    confidence : float
        Joint, of everything said.
    truth : "population" or "full_benchmark"
    estimator : Estimator, optional
        For selections that are no sample: scores and their errors come from it, and
        every pair is as certain as its effective size makes it.

    Raises
    ------
    Undefined
        Two models have no example in common; the text gives their rows.
    """
    there = ~np.isnan(scores)
    values = np.where(there, scores, 0.0)
    weights = design.weights if estimator is None else estimator.coefficients
    table = _table(values, there.astype(np.float64), weights, design, truth, estimator)
    z = pairwise_critical(len(scores), confidence)
    ahead = _separated(table, z)
    means = values @ weights / (there @ weights)
    if estimator is not None:
        means = np.clip(means * weights.sum() + estimator.intercept, 0, 1)
    order = np.lexsort((np.arange(len(means)), -means))
    groups = _tie_groups((ahead | ahead.T)[np.ix_(order, order)])
    neighbours = int((ahead | ahead.T)[order[:-1], order[1:]].sum())
    return Ranking(
        confidence=confidence,
        critical_value=z,
        family=len(scores) * (len(scores) - 1) // 2,
        separable_pairs=int(ahead.sum()),
        separable_neighbours=neighbours,
        models=_places(means, _intervals(means, table, estimator, confidence), there, table, ahead, order, z),
        tie_groups=tuple(tuple(int(order[at]) for at in group) for group in groups),
    )


def pairwise_critical(models: int, confidence: float) -> float:
    """Critical value for all pairs of `models`; 1.96 for two."""
    if models == 2:
        return float(special.ndtri(0.5 + confidence / 2))
    return float(stats.studentized_range.ppf(confidence, models, np.inf)) / 2**0.5


def simultaneous_confidence(confidence: float, family: int) -> float:
    """Confidence each of `family` intervals needs to hold together (Šidák 1967)."""
    return float(confidence ** (1 / family))


def sidak(p: float, family: int) -> float:
    """A p-value that is the best of `family`, corrected: .009 of 23 is .19."""
    return float(-np.expm1(family * np.log1p(-p)))


def _table(
    values: Square, there: Square, weights: NDArray[np.float64],
    design: Design, truth: Truth, estimator: Estimator | None,
) -> _Table:  # fmt: skip
    """Weighted counts of each pair on the examples both answered, at their effective size."""
    shared = there @ there.T
    if not shared.all():
        first, second = np.argwhere(shared == 0)[0]
        raise Undefined(f"models {first} and {second} answered no example in common")
    common = (there * weights) @ there.T
    gain = _gains(values, there, weights) / common
    if estimator is None:
        size = _design_size(values, there, weights, gain, design, truth)
    else:
        known = 1 / min(estimator.calibration.effective_size, 1e12)
        noise = 1 / design.total if truth == "population" else 0.0
        size = shared / len(weights) / (known + noise)
    return _Table(gain * size, gain.T * size, size)


def _design_size(
    values: Square, there: Square, weights: NDArray[np.float64], gain: Square, design: Design, truth: Truth
) -> Square:
    """Independent 0/1 examples that tell as much about each pair."""
    shared = there @ there.T
    common, squared = (there * weights) @ there.T, (there * weights**2) @ there.T
    difference = gain - gain.T
    squares = (values**2 * weights) @ there.T
    spread = (squares + squares.T - 2 * (values * weights) @ values.T) / common - difference**2
    size = common**2 / squared
    if truth == "full_benchmark":
        left = np.maximum(design.total - shared, 0) / max(design.total - 1, 1)
        size = size / np.maximum(left, 1e-12)
    pseudo = 2.0 / shared
    bound = gain + gain.T - difference**2
    return np.asarray(size * (bound + pseudo) / (np.maximum(spread, 0) + pseudo))


def _intervals(
    means: NDArray[np.float64], table: _Table, estimator: Estimator | None, confidence: float
) -> NDArray[np.float64]:
    """Joint intervals of the scores, shape (K, 2)."""
    each = simultaneous_confidence(confidence, len(means))
    if estimator is None:
        return np.column_stack(wilson_share(np.clip(means, 0, 1), np.diag(table.size), each))
    calibration = estimator.calibration
    half = critical(each, max(calibration.models - 1, 1)) * calibration.deviation
    return np.clip(np.column_stack((means - half, means + half)), 0, 1)


def _gains(values: Square, there: Square, weights: NDArray[np.float64]) -> Square:
    """Σ weight × max(row − column, 0) over the common examples."""
    if np.isin(values, (0, 1)).all():
        return np.asarray((values * weights) @ (there * (1 - values)).T)
    rows = [
        (np.maximum(row - values, 0) * mask * there) @ weights
        for row, mask in zip(values, there, strict=True)
    ]
    return np.array(rows)


def _separated(table: _Table, z: float) -> NDArray[np.bool_]:
    """Whether the row is ahead of the column beyond doubt, shape (K, K)."""
    level = 2 * special.ndtr(-z)
    beyond = score_statistic(table.gain, table.loss, table.size, 0.0) > z
    return np.asarray(beyond & (mid_p(table.gain, table.loss) <= level))


def _places(
    means: NDArray[np.float64], intervals: NDArray[np.float64], there: NDArray[np.bool_],
    table: _Table, ahead: NDArray[np.bool_], order: NDArray[np.intp], z: float,
) -> tuple[Ranked, ...]:  # fmt: skip
    count, best = len(means), int(order[0])
    from_low, from_high = _from_best(table, best, z)
    share = (table.gain - table.loss) / table.size
    wins = 0.5 + share.sum(axis=1) / 2 / (count - 1)
    return tuple(
        Ranked(
            model=int(at),
            score=float(means[at]),
            interval=(float(intervals[at, 0]), float(intervals[at, 1])),
            rank=1 + int((means > means[at] + 1e-12).sum()),
            rank_interval=(1 + int(ahead[:, at].sum()), count - int(ahead[at].sum())),
            win_rate=float(wins[at]),
            difference_from_best=float(share[at, best]),
            difference_from_best_interval=(float(from_low[at]), float(from_high[at])),
            coverage=float(there[at].mean()),
        )
        for at in order
    )


def _from_best(table: _Table, best: int, z: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Interval of each model's difference from the best; the best differs from itself by 0."""
    gain, loss, size = table.gain[:, best], table.loss[:, best], table.size[:, best]
    low, high = tango(gain, loss, size, z)
    tied = mid_p(gain, loss) > 2 * special.ndtr(-z)
    low, high = np.where(tied, np.minimum(low, 0), low), np.where(tied, np.maximum(high, 0), high)
    low[best] = high[best] = 0.0
    return low, high


def _tie_groups(apart: NDArray[np.bool_]) -> list[range]:
    """Longest runs of neighbours, best first, of which no two are separated."""
    groups: list[range] = []
    for first in range(len(apart)):
        last = first
        while last + 1 < len(apart) and not apart[first : last + 1, last + 1].any():
            last += 1
        if not groups or last > groups[-1][-1]:
            groups.append(range(first, last + 1))
    return groups
