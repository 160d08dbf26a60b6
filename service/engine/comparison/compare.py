"""Compare a candidate with a baseline on the examples both answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison import interpretation
from service.engine.comparison.answer import Clusters, Comparison, Flips, FullBenchmark, Repeats
from service.engine.comparison.equivalence import Equivalence, equivalence
from service.engine.comparison.gate import GateRule, verdict
from service.engine.comparison.mcnemar import mcnemar
from service.engine.comparison.operating_characteristics import operating_characteristics
from service.engine.comparison.order_probability import JEFFREYS, normal_order_probability, order_probability
from service.engine.comparison.paired import Estimate, PairedScores, difference, modelled_difference
from service.engine.comparison.repeats import Repeated, repeated
from service.engine.comparison.sampling_design import Design, Truth
from service.engine.data.errors import Undefined


@dataclass(frozen=True, slots=True)
class Modelled:
    """A difference of full scores estimated by a model, for subsets that are no sample.

    Attributes
    ----------
    baseline, candidate : float
        Full scores by the selection's estimator.
    standard_error : float
        Of their difference from the one the same runs would show on the full benchmark.
    """

    baseline: float
    candidate: float
    standard_error: float
    warnings: tuple[str, ...] = ()


def compare(
    baseline: NDArray[np.float64],
    candidate: NDArray[np.float64],
    design: Design,
    rule: GateRule,
    *,
    truth: Truth = "population",
    clusters: Sequence[str] | None = None,
    prior: float = JEFFREYS,
    modelled: Modelled | None = None,
) -> Comparison:
    """Compare two models on the examples both answered.

    Parameters
    ----------
    baseline, candidate : ndarray of float64, shape (n,) or (n, runs)
        Scores in [0, 1] on the same examples in the same order; NaN where missing.
    design : Design
        Of these n examples; `Design.random(n, n)` for the full benchmark.
    rule : GateRule
    truth : "population" or "full_benchmark"
        What the verdict is about. By default the models themselves: every example that
        tells them apart may be noise of the run, so no finite-population correction;
        the same whether the subset or the whole benchmark was run. "full_benchmark"
        asks about these very runs on all examples, for answers that never change.
    clusters : sequence of str, optional
        Cluster of each example, none empty.
    prior : float
        See `prior_from_pairs`; used for the order's probability only.
    modelled : Modelled, optional
        For subsets chosen by a model: replaces the design-based difference.

    Raises
    ------
    Undefined
        No example was answered by both.
    """
    first, second = _runs(baseline), _runs(candidate)
    common = ~np.isnan(first.mean) & ~np.isnan(second.mean)
    if not common.any():
        raise Undefined(f"none of the {len(common)} examples was answered by both models")
    pairs = PairedScores(
        first.mean[common],
        second.mean[common],
        design.keep(common),
        None if clusters is None else _codes(np.asarray(clusters, dtype=object)[common]),
        None if first.noise is None and second.noise is None else _noise(first, second)[common],
    )
    answer = _answer(pairs, rule, truth, prior, modelled)
    repeats = Repeats(first.summary, second.summary) if pairs.noise is not None else None
    found = _finish(answer, common, first.mean, second.mean, repeats)
    return replace(found, warnings=(*(modelled.warnings if modelled else ()), *found.warnings))


def _answer(
    pairs: PairedScores, rule: GateRule, truth: Truth, prior: float, modelled: Modelled | None
) -> Comparison:
    deciding = _estimate(pairs, rule, truth, modelled)
    finite = _estimate(pairs, rule, "full_benchmark", modelled)
    lost, won = int((pairs.differences < 0).sum()), int((pairs.differences > 0).sum())
    n = len(pairs.differences)
    return Comparison(
        verdict=verdict(deciding.interval, rule.margin),
        reason="",
        margin=rule.margin,
        confidence=rule.confidence,
        power=rule.power,
        truth=truth,
        baseline_score=modelled.baseline if modelled else float(pairs.design.mean(pairs.baseline)),
        candidate_score=modelled.candidate if modelled else float(pairs.design.mean(pairs.candidate)),
        difference=deciding.difference,
        standard_error=deciding.standard_error,
        interval=deciding.interval,
        interval_method=deciding.kind,
        n_common=n,
        n_asked=n,
        n_benchmark=pairs.design.total,
        coverage=1.0,
        effective_size=float(deciding.size) if np.isfinite(deciding.size) else None,
        b=lost,
        c=won,
        disagreement=(lost + won) / n,
        mcnemar=mcnemar(lost, won) if pairs.binary else None,
        full_benchmark=_full(pairs, finite, prior),
        gate=operating_characteristics(pairs, deciding, rule, truth),
        equivalence=_equivalence(pairs, deciding, rule),
        clusters=_clusters(pairs, rule, truth),
        repeats=None,
        warnings=(),
        flips=Flips((), ()),
    )


def _finish(
    answer: Comparison, common: NDArray[np.bool_], first: NDArray[np.float64],
    second: NDArray[np.float64], repeats: Repeats | None,
) -> Comparison:  # fmt: skip
    """Add what is known about the examples asked, and the words."""
    with np.errstate(invalid="ignore"):
        lost, won = (np.flatnonzero(first > second), np.flatnonzero(second > first))
    answer = replace(
        answer,
        n_asked=len(common),
        coverage=answer.n_common / len(common),
        repeats=repeats,
        flips=Flips(tuple(lost.tolist()), tuple(won.tolist())),
    )
    return replace(answer, reason=interpretation.reason(answer), warnings=interpretation.warnings(answer))


def _estimate(pairs: PairedScores, rule: GateRule, truth: Truth, modelled: Modelled | None) -> Estimate:
    if modelled is None:
        return difference(pairs, rule.confidence, truth)
    value = modelled.candidate - modelled.baseline
    return modelled_difference(pairs, value, modelled.standard_error, rule.confidence, truth)


def _equivalence(pairs: PairedScores, deciding: Estimate, rule: GateRule) -> Equivalence | None:
    if rule.margin == 0:
        return None
    return equivalence(deciding, pairs.movement, rule.margin, rule.level)


def _clusters(pairs: PairedScores, rule: GateRule, truth: Truth) -> Clusters | None:
    if pairs.clusters is None:
        return None
    alone = difference(replace(pairs, clusters=None), rule.confidence, truth)
    return Clusters(int(pairs.clusters.max()) + 1, alone.standard_error)


def _full(pairs: PairedScores, finite: Estimate, prior: float) -> FullBenchmark:
    chance: float | None = None
    if finite.difference != 0:
        plain = finite.kind in ("score", "exact") and pairs.binary and len(pairs.design.sizes) == 1
        if plain:
            lost, won = (int((sign * pairs.differences > 0).sum()) for sign in (-1, 1))
            chance = order_probability(won, lost, len(pairs.differences), pairs.design.total, prior)
        else:
            spread = None if finite.kind == "model" else pairs.movement / (2 * prior + 1) ** 0.5
            chance = normal_order_probability(finite.difference, finite.standard_error, spread)
    return FullBenchmark(finite.difference, finite.interval, chance)


def _runs(scores: NDArray[np.float64]) -> Repeated:
    return repeated(scores.reshape(len(scores), -1).astype(np.float64))


def _noise(first: Repeated, second: Repeated) -> NDArray[np.float64]:
    """Variance of each difference from the runs; a model run once borrows the other's."""
    parts = [model.noise for model in (first, second) if model.noise is not None]
    return parts[0] + parts[-1]


def _codes(clusters: NDArray[np.object_]) -> NDArray[np.int64]:
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64)
