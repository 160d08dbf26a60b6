"""Trials: agreement and error of every variant, and the coverage of the intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods_table.benchmarks import Benchmark
from benchmarks.methods_table.variants import Variant
from service.engine.data.contracts import Source
from service.engine.data.errors import Unsuitable
from service.engine.selection.optimal_design import OptimalDesign

SIZES = (10, 25, 50, 100, 200)
TARGETS = 40
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trial:
    """What one trial shows: sources on the selection half, targets (these rows) on both halves."""

    rows: NDArray[np.int64]
    source: Source
    targets: Floats
    new: Floats
    rng: np.random.Generator


@dataclass(frozen=True, slots=True)
class Share:
    """A share and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{100 * self.value:.0f} ± {100 * self.error:.0f} %"


def trial(benchmark: Benchmark, sources: int, seed: int, other_families: bool = False) -> Trial:
    """Draw targets from the judges, sources from all other models, and split each subtask in halves."""
    rng = np.random.default_rng(seed)
    targets = rng.permutation(benchmark.judges)[:TARGETS]
    others = np.setdiff1d(np.arange(len(benchmark.scores)), targets)
    if other_families and benchmark.families is not None:
        kinds = rng.permutation(np.unique(benchmark.families))
        away = np.isin(benchmark.families, kinds[: len(kinds) // 2])
        targets = rng.permutation(benchmark.judges[away[benchmark.judges]])[:TARGETS]
        others = np.flatnonzero(~away)
    rows = np.sort(rng.permutation(others)[:sources])
    selection = np.zeros(len(benchmark.strata), dtype=bool)
    for subtask in np.unique(benchmark.strata):
        examples = rng.permutation(np.flatnonzero(benchmark.strata == subtask))
        selection[examples[: len(examples) // 2]] = True
    scores = benchmark.scores[:, selection]
    source = Source(np.ascontiguousarray(scores[rows]), benchmark.strata[selection])
    new = benchmark.scores[targets][:, ~selection].mean(axis=1)
    return Trial(targets, source, scores[targets].astype(np.float64), new, rng)


def agreement(truth: Floats, estimates: Floats) -> float:
    """Share of pairs in the true order, a tie counting half, pairs of equal truth left out."""
    first, second = np.triu_indices(len(truth), 1)
    right, found = truth[first] - truth[second], estimates[first] - estimates[second]
    found = np.where(np.abs(found) < 1e-12, 0, found)
    kept = right != 0
    return float(np.where(found == 0, 0.5, right * found > 0)[kept].mean())


def measure(variant: Variant, drawn: Trial) -> Floats:
    """Agreement on the same items, on new items, and mean absolute error, by size: shape (sizes, 3)."""
    fitted = variant(drawn.source, drawn.rng)
    truth = drawn.targets.mean(axis=1)
    rows = []
    for size in SIZES:
        chosen = fitted.choose(size)
        estimates = fitted.estimate(chosen, drawn.targets[:, chosen])
        error = float(np.abs(estimates - truth).mean())
        rows.append((agreement(truth, estimates), agreement(drawn.new, estimates), error))
    return np.array(rows)


def compare(
    variants: dict[str, Variant], benchmark: Benchmark, sources: int, trials: int, **how: bool
) -> dict[str, Floats]:
    """Means over the trials by variant, each (sizes, 3); a variant that cannot work is left out."""
    found: dict[str, list[Floats]] = {}
    for seed in range(trials):
        for name, variant in variants.items():
            try:
                found.setdefault(name, []).append(measure(variant, trial(benchmark, sources, seed, **how)))
            except Unsuitable:
                continue
    return {name: np.mean(values, axis=0) for name, values in found.items() if len(values) == trials}


def coverage(benchmark: Benchmark, sources: int, trials: int) -> dict[str, Share]:
    """Share of the targets' full scores in their 90 % intervals; of pairs given 0.8 to 0.9, in order."""
    inside, rank, models, band = [], [], [], []
    for seed in range(trials):
        drawn = trial(benchmark, sources, seed)
        fitted = OptimalDesign().fit(drawn.source, drawn.rng)
        truth = drawn.targets.mean(axis=1)
        for size in SIZES:
            subset = fitted.pick(size)
            answers = drawn.targets[:, subset.indices]
            low, high = fitted.interval(subset, answers).T
            inside.append((low <= truth) & (truth <= high))
            rank.append(np.argsort(np.argsort(fitted.estimate(subset, answers, "blp"))) / len(truth))
            models.append(drawn.rows)
            first, second = np.triu_indices(len(truth), 1)
            surely = fitted.better(subset, answers[first], answers[second])
            stated = np.maximum(surely, 1 - surely)
            kept = (stated > 0.8) & (stated < 0.9) & (truth[first] != truth[second])
            band.append(((surely > 0.5) == (truth[first] > truth[second]))[kept])
    covered, place, rows = np.array(inside), np.array(rank), np.array(models)
    return {
        "all": share(covered, rows),
        **{
            f"{n} examples": share(covered[at :: len(SIZES)], rows[at :: len(SIZES)])
            for at, n in enumerate(SIZES)
        },
        "bottom fifth": share(covered[place < 0.2], rows[place < 0.2]),
        "top fifth": share(covered[place >= 0.8], rows[place >= 0.8]),
        "pairs": Share(float(np.concatenate(band).mean()), 0.0),
    }


def beyond(benchmark: Benchmark, sources: int, trials: int) -> tuple[Share, float]:
    """Coverage of the best tenth of models by sources from the lower four fifths, and their mean error."""
    order = np.argsort(benchmark.scores.mean(axis=1), kind="stable")
    models, examples = benchmark.scores.shape
    best, inside, errors = order[models * 9 // 10 :], [], []
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.permutation(order[: models * 4 // 5])[:sources])
        half = np.sort(rng.permutation(examples)[: examples // 2])
        source = Source(np.ascontiguousarray(benchmark.scores[np.ix_(rows, half)]), benchmark.strata[half])
        targets = benchmark.scores[np.ix_(best, half)].astype(np.float64)
        fitted, truth = OptimalDesign().fit(source, rng), targets.mean(axis=1)
        for size in SIZES:
            subset = fitted.pick(size)
            answers = targets[:, subset.indices]
            low, high = fitted.interval(subset, answers).T
            inside.append((low <= truth) & (truth <= high))
            errors.append(float((fitted.estimate(subset, answers, "blp") - truth).mean()))
    covered = np.array(inside)
    return share(covered, np.broadcast_to(best, covered.shape)), float(np.mean(errors))


def share(inside: NDArray[np.bool_], models: NDArray[np.int64]) -> Share:
    """A share and its standard error: a model met in many trials is one model."""
    rows = np.unique(models, return_inverse=True)[1].ravel()
    away = np.bincount(rows, weights=inside.ravel() - inside.mean())
    return Share(
        float(inside.mean()), float(np.sqrt((away**2).sum() * len(away) / (len(away) - 1)) / inside.size)
    )
