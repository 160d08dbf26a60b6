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

from service.engine.comparison.full_scores import Evidence, FullScores
from service.engine.comparison.intervals import Interval, critical, wilson_share
from service.engine.comparison.mcnemar import mid_p
from service.engine.comparison.paired import score_statistic, tango
from service.engine.comparison.sampling_design import Design, Truth
from service.engine.data.errors import Undefined

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
class _Pairwise:
    """What is known of every pair, row − column, shape (K, K), and of each model alone.

    Attributes
    ----------
    difference : ndarray of float64, shape (K, K)
        Of the estimated full scores.
    ahead : ndarray of bool, shape (K, K)
        Whether the row is ahead of the column beyond doubt.
    from_best : ndarray of float64, shape (K, 2)
        Interval of each model's difference from the best; the best differs from itself by 0.
    intervals : ndarray of float64, shape (K, 2)
        Joint, of the scores.
    """

    difference: Square
    ahead: NDArray[np.bool_]
    from_best: Square
    intervals: Square


def rank(
    scores: NDArray[np.float64],
    design: Design,
    confidence: float = 0.95,
    truth: Truth = "population",
    evidence: Evidence | None = None,
    baseline: NDArray[np.float64] | None = None,
) -> Ranking:
    """Rank K models by their results on the same examples.

    Models that answered different examples are set beside each other by what each pair
    answered in common, never by the mean of what each chose to answer.

    Parameters
    ----------
    scores : ndarray of float64, shape (K, n)
        In [0, 1]; NaN where missing. K ≥ 2.
    design : Design
        Of the n examples.
    confidence : float
        Joint, of everything said.
    truth : "population", "full_benchmark" or "runs"
    evidence : Evidence, optional
        What full scores are estimated from, as in `compare`.
    baseline : ndarray of float64, shape (N,), optional
        Row 0's scores on every example, where they are known.

    Raises
    ------
    Undefined
        Two models have no example in common; the text gives their rows.
    """
    there = ~np.isnan(scores)
    shared = there.astype(np.float64) @ there.T
    if not shared.all():
        first, second = np.argwhere(shared == 0)[0]
        raise Undefined(f"models {first} and {second} answered no example in common")
    z = pairwise_critical(len(scores), confidence)
    full = None if evidence is None or design.complete else evidence.scores(scores, baseline)
    if full is None or full.used == "plain":
        values = np.where(there, scores, 0.0)
        means = adjusted_means(scores, design.weights)
        pairs = _sampled(values, there.astype(np.float64), means, design, truth, confidence, z)
    else:
        means = full.scores
        pairs = _estimated(scores, full, design.total, truth, confidence, z)
    order = _order(means)
    separated = (pairs.ahead | pairs.ahead.T)[np.ix_(order, order)]
    return Ranking(
        confidence=confidence,
        critical_value=z,
        family=len(scores) * (len(scores) - 1) // 2,
        separable_pairs=int(pairs.ahead.sum()),
        separable_neighbours=int(np.diag(separated, 1).sum()),
        models=_places(means, pairs, there.mean(axis=1), order),
        tie_groups=tuple(tuple(int(order[at]) for at in group) for group in _tie_groups(separated)),
    )


def adjusted_means(scores: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean scores as if every model had answered every example, shape (K,).

    Least squares of level of the model + level of the example on the answers there are;
    two models' scores then differ by what they differ on the examples both answered.

    Parameters
    ----------
    scores : ndarray of float64, shape (K, n)
        NaN where missing; every two models have an example in common.
    weights : ndarray of float64, shape (n,)
        Of the examples, summing to 1.
    """
    there = ~np.isnan(scores)
    values = np.where(there, scores, 0.0)
    if there.all():
        return np.asarray(values @ weights)
    weighted = there * weights
    counts = there.sum(axis=0)
    seen = counts > 0
    mean = np.where(seen, values.sum(axis=0) / np.maximum(counts, 1), 0.0)
    shares = weighted[:, seen] / counts[seen]
    system = np.diag(weighted.sum(axis=1)) - shares @ there[:, seen].T
    levels = np.linalg.lstsq(system, (weighted * (values - mean)).sum(axis=1), rcond=None)[0]
    of_examples = np.where(seen, (values - levels[:, None] * there).sum(axis=0) / np.maximum(counts, 1), 0.0)
    return np.asarray(np.clip(levels + of_examples @ weights / weights[seen].sum(), 0, 1))


def pairwise_critical(models: int, confidence: float) -> float:
    """Critical value for all pairs of `models`; 1.96 for two."""
    if models == 2:
        return float(special.ndtri(0.5 + confidence / 2))
    return float(stats.studentized_range.ppf(confidence, models, np.inf)) / 2**0.5


def simultaneous_confidence(confidence: float, family: int) -> float:
    """Confidence each of `family` intervals needs to hold together (Šidák 1967)."""
    return float(confidence ** (1 / family))


def _order(means: NDArray[np.float64]) -> NDArray[np.intp]:
    """Best first; equals as they come."""
    return np.lexsort((np.arange(len(means)), -means))


def _sampled(
    values: Square, there: Square, means: NDArray[np.float64],
    design: Design, truth: Truth, confidence: float, z: float,
) -> _Pairwise:  # fmt: skip
    """From a sample: weighted counts of each pair on the examples both answered, at their effective size."""
    weights = design.weights
    share = _gains(values, there, weights) / ((there * weights) @ there.T)
    size = _design_size(values, there, weights, share, design, truth)
    gain, loss = share * size, share.T * size
    best = _order(means)[0]
    each = simultaneous_confidence(confidence, len(means))
    return _Pairwise(
        difference=share - share.T,
        ahead=_separated(gain, loss, size, z),
        from_best=_from_best(gain[:, best], loss[:, best], size[:, best], int(best), z),
        intervals=np.column_stack(wilson_share(np.clip(means, 0, 1), np.diag(size), each)),
    )


def _estimated(
    scores: Square, full: FullScores, total: int, truth: Truth, confidence: float, z: float
) -> _Pairwise:
    """From estimated full scores: their differences, with the errors `compare` gives them."""
    variance = full.of_differences.copy()
    if truth == "population":
        there = (~np.isnan(scores)).astype(np.float64)
        gain = _gains(np.nan_to_num(scores), there, np.ones(scores.shape[1]))
        variance = variance + (gain + gain.T) / (there @ there.T) / total
        np.fill_diagonal(variance, 0.0)
    means = full.scores
    if full.freedom:
        z = z * critical(confidence, full.freedom) / critical(confidence)
    difference, half = means[:, None] - means, z * variance**0.5
    best = int(_order(means)[0])
    from_best = np.column_stack((difference[:, best] - half[:, best], difference[:, best] + half[:, best]))
    each = simultaneous_confidence(confidence, len(means))
    alone = critical(each, full.freedom) * full.variance**0.5
    return _Pairwise(
        difference=difference,
        ahead=difference > half + 1e-12,
        from_best=np.clip(from_best, -1, 1),
        intervals=np.column_stack(
            (np.maximum(means - alone, full.low), np.minimum(means + alone, full.high))
        ),
    )


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
    if truth != "population":
        left = np.maximum(design.total - shared, 0) / max(design.total - 1, 1)
        size = size / np.maximum(left, 1e-12)
    pseudo = 2.0 / shared
    bound = gain + gain.T - difference**2
    return np.asarray(size * (bound + pseudo) / (np.maximum(spread, 0) + pseudo))


def _gains(values: Square, there: Square, weights: NDArray[np.float64]) -> Square:
    """Σ weight × max(row − column, 0) over the common examples."""
    if np.isin(values, (0, 1)).all():
        return np.asarray((values * weights) @ (there * (1 - values)).T)
    rows = [
        (np.maximum(row - values, 0) * mask * there) @ weights
        for row, mask in zip(values, there, strict=True)
    ]
    return np.array(rows)


def _separated(gain: Square, loss: Square, size: Square, z: float) -> NDArray[np.bool_]:
    """Whether the row is ahead of the column beyond doubt, shape (K, K)."""
    level = 2 * special.ndtr(-z)
    return np.asarray((score_statistic(gain, loss, size, 0.0) > z) & (mid_p(gain, loss) <= level))


def _places(
    means: NDArray[np.float64], pairs: _Pairwise, coverage: NDArray[np.float64], order: NDArray[np.intp]
) -> tuple[Ranked, ...]:
    count, best = len(means), int(order[0])
    wins = 0.5 + pairs.difference.sum(axis=1) / 2 / (count - 1)
    return tuple(
        Ranked(
            model=int(at),
            score=float(means[at]),
            interval=(float(pairs.intervals[at, 0]), float(pairs.intervals[at, 1])),
            rank=1 + int((means > means[at] + 1e-12).sum()),
            rank_interval=(1 + int(pairs.ahead[:, at].sum()), count - int(pairs.ahead[at].sum())),
            win_rate=float(wins[at]),
            difference_from_best=float(pairs.difference[at, best]),
            difference_from_best_interval=(float(pairs.from_best[at, 0]), float(pairs.from_best[at, 1])),
            coverage=float(coverage[at]),
        )
        for at in order
    )


def _from_best(
    gain: NDArray[np.float64], loss: NDArray[np.float64], size: NDArray[np.float64], best: int, z: float
) -> Square:
    """Interval of each model's difference from the best, shape (K, 2)."""
    low, high = tango(gain, loss, size, z)
    tied = mid_p(gain, loss) > 2 * special.ndtr(-z)
    low, high = np.where(tied, np.minimum(low, 0), low), np.where(tied, np.maximum(high, 0), high)
    low[best] = high[best] = 0.0
    return np.column_stack((low, high))


def _tie_groups(apart: NDArray[np.bool_]) -> list[range]:
    """Longest runs of neighbours, best first, without two that are separated."""
    groups: list[range] = []
    for first in range(len(apart)):
        last = first
        while last + 1 < len(apart) and not apart[first : last + 1, last + 1].any():
            last += 1
        if not groups or last > groups[-1][-1]:
            groups.append(range(first, last + 1))
    return groups
