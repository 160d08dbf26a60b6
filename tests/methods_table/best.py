"""Is optimal_design the best at every size? By the service's own experiment, on models it was not tuned on.

For every benchmark and number of source models, and at every size up to half of the examples, the
MDAD, agreement and estimation error of every method and of every method's subset with `blp`, beside
optimal_design's; differences with 95 % intervals paired over the same trials.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from service.engine import experiment
from service.engine.estimates import Estimates
from service.engine.matrix import Matrix
from service.engine.outline import Outline
from service.engine.plan import Plan, mdad_plan
from service.engine.selection.registry import METHODS
from service.engine.trials import entries
from tests.methods_table.benchmarks import Benchmark

OURS = "optimal_design"
TRUTHS = ("new_items", "same_items")
HEAD = """## Against every method at every size

By the service's own experiment (50 trials, sizes 10 to half of the benchmark): at how many sizes, on the
same items and on new ones, optimal_design has the highest agreement of 13 lines, every method and every
other method's subset with `blp`; and where another's agreement, MDAD or error is better by more than the
paired 95 % interval. The recommendation goes by the MDAD measured on your data, whoever has it.
"""
SIZES = (10, 25, 50, 100, 200, 300)
TARGETS = 40


def methods() -> list[Any]:
    """Every method, and every other method's subset with the best linear prediction."""
    blp = [{"method": name, "estimator": "blp"} for name in METHODS if name != OURS]
    return [*METHODS, *blp]


def run(benchmark: Benchmark, sources: int, trials: int) -> tuple[Plan, Estimates, list[dict[str, Any]]]:
    """As /mdad does it, judged on the same items and on new ones.

    Targets are drawn from the judges, sources from all others.
    """
    half = benchmark.scores.shape[1] // 2
    models = [f"m{row:03d}" for row in range(len(benchmark.scores))]
    examples = [f"e{column:05d}" for column in range(benchmark.scores.shape[1])]
    subtasks = [f"s{stratum:02d}" for stratum in benchmark.strata]
    matrix = Matrix.build(models, examples, benchmark.scores.astype(np.float64), subtasks=subtasks)
    targets = np.random.default_rng(7).permutation(benchmark.judges)[:TARGETS]
    request = {
        "methods": methods(),
        "sizes": [size for size in SIZES if size <= half],
        "trials": trials,
        "source_models": sources,
        "target_models": [models[row] for row in targets],
        "seed": 11,
    }
    plans = [mdad_plan(request | {"truth": truth}, Outline.of(matrix)) for truth in TRUTHS]
    blobs = [_part(matrix, plans[0], part) for part in experiment.parts(plans[0])]
    estimates = Estimates.joined([Estimates.from_bytes(blob) for blob in blobs])
    return plans[0], estimates, [experiment.assemble(matrix, plan, blobs, _silent) for plan in plans]


def _part(matrix: Matrix, plan: Plan, part: dict[str, Any]) -> bytes:
    return experiment.run_part(matrix, plan, part, _silent)


def _silent(done: float) -> None:
    """Nobody asks how far it is."""


def beaten(answer: dict[str, Any]) -> Iterator[str]:
    """Where another method orders models better than chance allows, a line each."""
    for row in answer["differences"]:
        if row["best"]["label"] == OURS:
            continue
        ours = next(other for other in row["others"] if other["label"] == OURS)
        for measure, sign in (("agreement", -1), ("mdad", 1)):
            ends = ours[measure]["interval"]
            if ends and None not in ends and min(sign * end for end in ends) > 0:
                gap = 100 * ours[measure]["difference"]
                where = f"{row['size']} examples, {row['truth'].replace('_', ' ')}"
                yield f"{where}: {measure} {gap:+.1f} points from {row['best']['label']}"


def missed(plan: Plan, estimates: Estimates) -> Iterator[str]:
    """Where another estimate is closer to the score on the same items than chance allows, a line each.

    Errors in points; paired over the targets, each the mean of all trials.
    """
    labels = [entry.spec.label for entry in entries(plan)]
    truth = estimates.same[0] / (plan.outline.n_examples - plan.heldout)
    errors = np.abs(estimates.scores[0] - truth).mean(axis=2)  # over the trials: (entries, sizes, targets)
    gaps = errors[labels.index(OURS)] - errors
    low = gaps.mean(axis=2) - 2 * gaps.std(axis=2, ddof=1) / np.sqrt(gaps.shape[2])
    for at, size in enumerate(plan.sizes):
        better = np.flatnonzero(low[:, at] > 0)
        if len(better):
            best = better[np.argmax(gaps[better, at].mean(axis=1))]
            ours, theirs = (100 * errors[e, at].mean() for e in (labels.index(OURS), best))
            yield f"{size} examples: error {ours:.2f} points, {labels[best]} {theirs:.2f}"


def section(parts: list[Benchmark], trials: int = 50) -> str:
    """The lines of the page, one a benchmark and number of sources, and those where it is not the best."""
    lines = [HEAD]
    for benchmark in parts:
        for sources in sorted({10, 50, benchmark.most_sources}):
            plan, estimates, answers = run(benchmark, sources, trials)
            bests = [row["best"]["label"] for answer in answers for row in answer["differences"]]
            lines.append(f"* {benchmark.name}, {sources} sources: {bests.count(OURS)} of {len(bests)}")
            found = [*beaten(answers[0]), *beaten(answers[1]), *missed(plan, estimates)]
            lines += [f"    * {line}" for line in found]
    return "\n".join(lines)
