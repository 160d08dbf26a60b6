"""Is optimal_design the best at every size? By the service's own experiment, on models it was not tuned on.

For every benchmark and number of source models, and at every size up to half of the examples, the
MDAD, agreement and estimation error of every method and of every method's subset with `blp`, beside
optimal_design's; differences with 95 % intervals paired over the same trials.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from service.engine import experiment
from service.engine.estimates import Estimates
from service.engine.matrix import Matrix
from service.engine.outline import Outline
from service.engine.plan import Plan, mdad_plan
from service.engine.selection.registry import METHODS
from service.engine.trials import entries
from tests.methods_table.benchmarks import Benchmark, benchmarks

ROOT = Path(__file__).parents[2]
OURS = "optimal_design"
SIZES = (10, 25, 50, 100, 200, 300)
TARGETS = 40


def methods() -> list[Any]:
    """Every method, and every other method's subset with the best linear prediction."""
    blp = [{"method": name, "estimator": "blp"} for name in METHODS if name != OURS]
    return [*METHODS, *blp]


def run(benchmark: Benchmark, sources: int, trials: int) -> tuple[Plan, Estimates, dict[str, Any]]:
    """As /mdad does it: targets are drawn from the judges, sources from all other models."""
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
    plan = mdad_plan(request, Outline.of(matrix))
    blobs = [experiment.run_part(matrix, plan, part, lambda done: None) for part in experiment.parts(plan)]
    estimates = Estimates.joined([Estimates.from_bytes(blob) for blob in blobs])
    return plan, estimates, experiment.assemble(matrix, plan, blobs, lambda done: None)


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
                yield f"{row['size']} {row['truth']}: {measure} {gap:+.1f} points from {row['best']['label']}"


def missed(plan: Plan, estimates: Estimates) -> Iterator[str]:
    """Where another estimate is closer to the score on the same items than chance allows, a line each."""
    labels = [entry.spec.label for entry in entries(plan)]
    truth = estimates.same[0] / (plan.outline.n_examples - plan.heldout)
    errors = np.abs(estimates.scores[0] - truth).mean(axis=2)  # over the trials: (entries, sizes, targets)
    gaps = errors[labels.index(OURS)] - errors
    low = gaps.mean(axis=2) - 2 * gaps.std(axis=2, ddof=1) / np.sqrt(gaps.shape[2])
    for at, size in enumerate(plan.sizes):
        better = np.flatnonzero(low[:, at] > 0)
        told = [f"{labels[e]} by {100 * gaps[e, at].mean():.2f}" for e in better]
        if told:
            yield f"{size}: error {100 * errors[labels.index(OURS), at].mean():.2f}; lower {', '.join(told)}"


def main() -> int:
    """Print where it is not the best, and what is recommended."""
    wanted = sys.argv[1:]
    with threadpool_limits(1):
        for benchmark in benchmarks(ROOT.parent / "shared"):
            for sources in sorted({10, 50, benchmark.most_sources}):
                if wanted and benchmark.name not in wanted:
                    continue
                plan, estimates, answer = run(benchmark, sources, 50)
                bests = [row["best"]["label"] for row in answer["differences"]]
                print(f"## {benchmark.name}, {sources} sources: best at {bests.count(OURS)} of {len(bests)}")
                print(*beaten(answer), *missed(plan, estimates), sep="\n")
                print("recommended:", answer["recommendation"]["sentence"], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
