"""What a gate on chosen examples will find, before anything is run: measured on the models there are.

Some of the known models play the candidate, the others are the sources, among them the
baseline: one about as far above as the drop to be found. Each pair is estimated from chosen
examples as `compare` does. The mean variance is the gate's at that size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.comparison.full_scores import EstimatorUsed, Evidence
from service.engine.comparison.gate import GateRule
from service.engine.comparison.intervals import critical
from service.engine.comparison.operating_characteristics import GateRates, normal_rates
from service.engine.comparison.selection_estimates import Selected, evidence_of_scores
from service.engine.data.contracts import Source, Subset
from service.engine.data.matrix import Scores
from service.engine.prediction.ability_model import fit_ability_model
from service.engine.prediction.ability_prior import Expect
from service.engine.selection.random_sampling import RandomSampling

Rows = NDArray[np.int64]

FOLDS, CANDIDATES, MOST_SOURCES = 4, 4, 60
"""Times that some models are set apart as candidates, how many, and source models that judge them."""
LEAST_FOR_GATE = 4
_SET_APART = 6
"""At most one model in so many is a candidate of one fold, so that the sources are nearly all."""
_FITTED = 5
_MEASURED = 300
"""Examples up to which the spread of one example's error is measured; it hardly changes beyond."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How examples are chosen.

    Attributes
    ----------
    fit : callable
        Learns from source models; what it returns chooses so many examples.
    method : str
    options : mapping
    drawn : bool
        Whether it draws at random, so that each pair has a draw of its own.
    expect : "like" or "better"
        What new models are expected to be.
    """

    fit: Callable[[Source, np.random.Generator], Callable[[int], Subset]]
    method: str = RandomSampling.name
    options: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = True
    expect: Expect = "like"


AT_RANDOM = Choice(lambda source, rng: RandomSampling().fit(source, rng).pick)


@dataclass(frozen=True, slots=True)
class GateAtSize:
    """A gate on `size` random examples: its error, and what it does."""

    size: int
    standard_error: float
    estimator: EstimatorUsed
    rates: GateRates

    def as_json(self) -> dict[str, Any]:
        """All of it, flat; whether it can pass or fail at all goes without saying."""
        rates = {name: value for name, value in asdict(self.rates).items() if not name.startswith("can_")}
        return {"size": self.size, "standard_error": self.standard_error, "estimator": self.estimator} | rates


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
    choice: Choice = AT_RANDOM,
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
    choice : Choice
        By default at random.
    """
    if total is not None:
        sizes = sorted({min(size, total) for size in sizes})
    measured = dict.fromkeys(sizes, (disagreement, 0))
    used: EstimatorUsed = "plain"
    if source is not None and source.n_models >= LEAST_FOR_GATE:
        measured, used = _measured(source, sizes, drop, choice)
    by_size = tuple(_at(size, measured[size][0], used, rule, total) for size in sizes)
    spreads = np.array([measured[size][0] for size in sizes])
    return PlannedGate(
        drop=drop,
        size=_fewest(drop, np.array(sizes), spreads, rule, total),
        pairs=min((pairs for _, pairs in measured.values()), default=0),
        by_size=by_size,
    )


def _measured(
    source: Source, sizes: Sequence[int], drop: float, choice: Choice
) -> tuple[dict[int, tuple[float, int]], EstimatorUsed]:
    """Variance of one example's error and number of pairs by size."""
    rng, total = np.random.default_rng(0), source.n_examples
    found: dict[int, list[float]] = {size: [] for size in sizes}
    used: EstimatorUsed = "plain"
    most = max(_MEASURED, min(sizes))
    within = [size for size in sizes if size < total and size <= most]
    pairs = 0
    for candidates, rows in _folds(source.n_models, rng):
        part = _part(source, rows)
        chosen = _Chosen(choice, part, rng)
        for candidate, baseline in _pairs(source.scores, candidates, rows, drop):
            pairs += 1
            for size in within:
                columns, by = chosen.examples(size, pairs)
                full = by.scores(np.stack((baseline, candidate))[:, columns], baseline)
                used = full.used
                found[size].append(float(full.of_differences[0, 1]) * size / (1 - size / total))
    return {size: (variance, pairs) for size, variance in _means(found).items()}, used


def _means(found: dict[int, list[float]]) -> dict[int, float]:
    """Mean by size; of a size without values, that of the last size that has some."""
    last = float(np.mean(next((some for some in reversed(found.values()) if some), [0.0])))
    return {size: float(np.mean(some)) if some else last for size, some in found.items()}


def _part(source: Source, rows: Rows) -> Source:
    """Some of the source models."""
    kept = None if source.confidences is None else source.confidences[rows]
    return replace(source, scores=source.scores[rows], confidences=kept)


class _Chosen:
    """Examples chosen from some source models, and what full scores are estimated from on them."""

    def __init__(self, choice: Choice, part: Source, rng: np.random.Generator) -> None:
        self._choice, self._part, self._rng = choice, part, rng
        self._model, self._pick = fit_ability_model(part), choice.fit(part, rng)
        self._pair = 0
        self._kept: dict[int, tuple[Rows, Evidence]] = {}

    def examples(self, size: int, pair: int) -> tuple[Rows, Evidence]:
        """So many examples for a pair of models: drawn anew for each pair, or the same for all."""
        if self._choice.drawn and pair != self._pair:
            self._pair, self._pick, self._kept = pair, self._choice.fit(self._part, self._rng), {}
        if size not in self._kept:
            subset = self._pick(size)
            choice, part = self._choice, self._part
            ability = AbilityEstimator(self._model, subset.indices, choice.expect, subset.inclusion)
            selected = Selected(choice.method, choice.options, subset.indices, subset.weights, part.strata)
            self._kept[size] = subset.indices, evidence_of_scores(selected, ability, part)
        return self._kept[size]


def _folds(models: int, rng: np.random.Generator) -> Iterator[tuple[Rows, Rows]]:
    """Models that play the candidate, and those that are sources beside them."""
    apart = max(1, min(CANDIDATES, models // _SET_APART))
    order = rng.permutation(models)
    for fold in range(min(FOLDS, models // apart)):
        candidates = order[fold * apart : (fold + 1) * apart]
        others = rng.permutation(np.setdiff1d(order, candidates))[:MOST_SOURCES]
        yield candidates, np.sort(others)


def _pairs(
    scores: Scores, candidates: Rows, sources: Rows, drop: float
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Each candidate's scores with those of the source model that is most nearly `drop` above it."""
    full = scores.mean(axis=1, dtype=np.float64)
    for candidate in candidates:
        baseline = sources[np.abs(full[sources] - full[candidate] - drop).argmin()]
        yield scores[candidate].astype(np.float64), scores[baseline].astype(np.float64)


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
