"""Compare a candidate with a baseline on the examples both answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison import interpretation
from service.engine.comparison.answer import Clusters, Comparison, Flips, FullBenchmark, Repeats, RunNoise
from service.engine.comparison.equivalence import Equivalence, equivalence
from service.engine.comparison.full_scores import Evidence, FullScores
from service.engine.comparison.gate import GateRule, verdict
from service.engine.comparison.intervals import Interval
from service.engine.comparison.mcnemar import mcnemar
from service.engine.comparison.operating_characteristics import operating_characteristics
from service.engine.comparison.order_probability import JEFFREYS, normal_order_probability, order_probability
from service.engine.comparison.paired import Estimate, Modelled, PairedScores, difference, modelled_difference
from service.engine.comparison.repeats import Repeated, repeated
from service.engine.comparison.sampling_design import Design, Truth
from service.engine.comparison.subtask_differences import Subtasks, subtask_differences, subtask_verdict
from service.engine.data.errors import Undefined


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What a comparison knows beside the answers.

    Attributes
    ----------
    truth : "population", "full_benchmark" or "runs"
        What the verdict is about: models on questions like these; these very runs on all
        examples of the benchmark; or new runs on them. Run noise that is known, from
        repeats or as stated, counts in the last two.
    clusters : sequence of str, optional
        Cluster of each example, none empty.
    prior : float
        See `prior_from_pairs`; used for the order's probability only.
    evidence : Evidence, optional
        What full scores are estimated from; without it the paired answers alone.
    baseline : ndarray of float64, shape (N,), optional
        The baseline's scores on every example of the benchmark, where they are known.
    run_variance : float, optional
        Stated variance of one answer from one run to the next; 0 for deterministic decoding.
    subtasks : Subtasks, optional
    """

    truth: Truth = "population"
    clusters: Sequence[str] | None = None
    prior: float = JEFFREYS
    evidence: Evidence | None = None
    baseline: NDArray[np.float64] | None = None
    run_variance: float | None = None
    subtasks: Subtasks | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Noise:
    """Variance of each answer's mean from the runs, shape (n,) each; and where that is known from."""

    baseline: NDArray[np.float64]
    candidate: NDArray[np.float64]
    known: RunNoise


def compare(
    baseline: NDArray[np.float64],
    candidate: NDArray[np.float64],
    design: Design,
    rule: GateRule,
    setting: Setting | None = None,
) -> Comparison:
    """Compare two models on the examples both answered.

    Parameters
    ----------
    baseline, candidate : ndarray of float64, shape (n,) or (n, runs)
        Scores in [0, 1] on the same examples in the same order; NaN where missing.
    design : Design
        Of these n examples; `Design.random(n, n)` for the full benchmark.
    rule : GateRule
    setting : Setting, optional

    Raises
    ------
    Undefined
        No example was answered by both, or the truth asks for run noise that is not known.
    """
    setting = setting or Setting()
    first, second = _runs(baseline), _runs(candidate)
    common = ~np.isnan(first.mean) & ~np.isnan(second.mean)
    if not common.any():
        raise Undefined(f"none of the {len(common)} examples was answered by both models")
    noise = _noise(first, second, common, setting.run_variance)
    if setting.truth == "runs" and noise is None:
        raise Undefined("the noise of the runs is not known: neither repeats nor run_variance were given")
    pairs = PairedScores(
        first.mean[common],
        second.mean[common],
        design.keep(common),
        None if setting.clusters is None else _codes(np.asarray(setting.clusters, dtype=object)[common]),
        None if noise is None else noise.baseline + noise.candidate,
    )
    full = _estimated(first.mean, second.mean, common, pairs, setting)
    answer = _answer(pairs, rule, setting, _modelled(full, noise, common), noise)
    answer = replace(answer, estimator="plain" if full is None else full.used)
    if setting.subtasks is not None:
        answer = _with_subtasks(answer, pairs, common, setting.subtasks, rule)
    many = first.noise is not None or second.noise is not None
    repeats = Repeats(first.summary, second.summary) if many else None
    return _finish(answer, common, first.mean, second.mean, repeats, design, rule, full)


def _estimated(
    baseline: NDArray[np.float64], candidate: NDArray[np.float64], common: NDArray[np.bool_],
    pairs: PairedScores, setting: Setting,
) -> FullScores | None:  # fmt: skip
    """Full scores of both from the examples both answered; None where paired answers alone are better."""
    if setting.evidence is None or pairs.design.complete:
        return None
    answers = np.where(common, np.array([baseline, candidate]), np.nan)
    clusters = None
    if pairs.clusters is not None:
        clusters = np.zeros(len(common), dtype=np.int64)
        clusters[common] = pairs.clusters
    full = setting.evidence.scores(answers, setting.baseline, clusters)
    return None if full.used == "plain" else full


def _modelled(full: FullScores | None, noise: _Noise | None, common: NDArray[np.bool_]) -> Modelled | None:
    if full is None:
        return None
    runs = 0.0
    if noise is not None:
        runs = float(full.coefficients[1, common] ** 2 @ noise.candidate)
        runs += float(full.baseline_noise[1] * noise.baseline.mean())
    return Modelled(
        baseline=float(full.scores[0]),
        candidate=float(full.scores[1]),
        standard_error=float(full.of_differences[0, 1]) ** 0.5,
        kind="model" if full.used == "predicted" else "assisted",
        freedom=full.freedom,
        run_variance=runs,
        baseline_known=bool(full.known[0]),
    )


def _answer(
    pairs: PairedScores, rule: GateRule, setting: Setting, modelled: Modelled | None, noise: _Noise | None
) -> Comparison:
    deciding = _estimate(pairs, rule, setting.truth, modelled)
    finite = _estimate(pairs, rule, "full_benchmark", modelled)
    lost, won = int((pairs.differences < 0).sum()), int((pairs.differences > 0).sum())
    n = len(pairs.differences)
    return Comparison(
        verdict=verdict(deciding.interval, rule),
        reason="",
        preset=rule.preset,
        margin=rule.margin,
        confidence=rule.confidence,
        power=rule.power,
        truth=setting.truth,
        baseline_score=modelled.baseline if modelled else float(pairs.design.mean(pairs.baseline)),
        candidate_score=modelled.candidate if modelled else float(pairs.design.mean(pairs.candidate)),
        difference=deciding.difference,
        standard_error=deciding.standard_error,
        interval=deciding.interval,
        interval_method=deciding.kind,
        estimator="plain",
        run_variance=None if noise is None else noise.known,
        n_common=n,
        n_asked=n,
        n_benchmark=pairs.design.total,
        coverage=1.0,
        least_coverage=rule.coverage,
        bounds=None,
        # 12 digits: the rounding of sums is no part of the answer.
        effective_size=float(f"{deciding.size:.12g}") if np.isfinite(deciding.size) else None,
        b=lost,
        c=won,
        disagreement=(lost + won) / n,
        mcnemar=mcnemar(lost, won) if pairs.binary else None,
        full_benchmark=_full(pairs, finite, setting.prior),
        gate=operating_characteristics(pairs, deciding, rule, setting.truth),
        subtasks=None,
        subtask_margin=rule.subtask_margin,
        equivalence=_equivalence(pairs, deciding, rule),
        clusters=_clusters(pairs, rule, setting.truth),
        repeats=None,
        warnings=(),
        flips=Flips((), ()),
    )


def _with_subtasks(
    answer: Comparison, pairs: PairedScores, common: NDArray[np.bool_], subtasks: Subtasks, rule: GateRule
) -> Comparison:
    found = subtask_differences(pairs, subtasks.codes[common], subtasks, rule, answer.truth)
    return replace(answer, subtasks=found, verdict=subtask_verdict(answer.verdict, found))


def _finish(
    answer: Comparison, common: NDArray[np.bool_], first: NDArray[np.float64], second: NDArray[np.float64],
    repeats: Repeats | None, design: Design, rule: GateRule, full: FullScores | None,
) -> Comparison:  # fmt: skip
    """Add what is known about the examples asked, and the words."""
    with np.errstate(invalid="ignore"):
        lost, won = (np.flatnonzero(first > second), np.flatnonzero(second > first))
    coverage = answer.n_common / len(common)
    answer = replace(
        answer,
        verdict=answer.verdict if coverage >= rule.coverage else "inconclusive",
        n_asked=len(common),
        coverage=coverage,
        bounds=_bounds(first, second, design),
        repeats=repeats,
        flips=Flips(tuple(lost.tolist()), tuple(won.tolist())),
    )
    notes = (None, None) if full is None else full.notes
    named = zip(("Baseline", "Candidate"), notes, strict=True)
    said = tuple(f"{name}: {note}" for name, note in named if note is not None)
    texts = (*said, *interpretation.warnings(answer))
    return replace(answer, reason=interpretation.reason(answer), warnings=texts)


def _bounds(first: NDArray[np.float64], second: NDArray[np.float64], design: Design) -> Interval | None:
    """The difference on the examples asked were every missing answer against, or for, the candidate."""
    if not (np.isnan(first) | np.isnan(second)).any():
        return None
    low = np.where(np.isnan(second), 0.0, second) - np.where(np.isnan(first), 1.0, first)
    high = np.where(np.isnan(second), 1.0, second) - np.where(np.isnan(first), 0.0, first)
    return float(design.mean(low)), float(design.mean(high))


def _estimate(pairs: PairedScores, rule: GateRule, truth: Truth, modelled: Modelled | None) -> Estimate:
    if modelled is None:
        return difference(pairs, rule.confidence, truth)
    return modelled_difference(pairs, modelled, rule.confidence, truth)


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


def _noise(
    first: Repeated, second: Repeated, common: NDArray[np.bool_], stated: float | None
) -> _Noise | None:
    """Run noise of both: from repeats, a model run once borrowing the other's; else as stated."""
    measured = [model.single for model in (first, second) if model.single is not None]
    if not measured and stated is None:
        return None
    if measured:
        one, two = (measured[at] / np.maximum(model.runs, 1) for at, model in ((0, first), (-1, second)))
        singles = float(measured[0][common].mean()), float(measured[-1][common].mean())
    else:
        one, two = (stated / np.maximum(model.runs, 1) for model in (first, second) if stated is not None)
        singles = (stated or 0.0, stated or 0.0)
    return _Noise(one[common], two[common], RunNoise(*singles, "repeats" if measured else "stated"))


def _codes(clusters: NDArray[np.object_]) -> NDArray[np.int64]:
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64)
