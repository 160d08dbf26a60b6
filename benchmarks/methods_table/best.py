"""Is optimal_design the best at every size? By the service's own experiment, on models it was not tuned on.

For every benchmark and number of source models, and at every size up to half of the examples, the
MDAD, agreement and estimation error of every method and of every method's subset with `blp`, beside
optimal_design's; differences with 95 % intervals paired over the same trials.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.methods_table.benchmarks import Benchmark
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.experiment.curves import Curve
from service.engine.planning.plan import Plan, mdad_plan
from service.engine.reliability import mdad_job
from service.engine.reliability.contrasts import error_contrast
from service.engine.reliability.evidence import Evidence, gather
from service.engine.reliability.recommendation import recommend
from service.engine.reliability.stages import grouped
from service.engine.selection.registry import METHODS

OURS = "optimal_design"
TRUTHS = ("new_items", "same_items")
HEAD = """## Against every method at every size

By the service's own experiment (50 trials, sizes 10 to half of the benchmark): at how many sizes, on the
same items and on new ones, optimal_design has the highest agreement of 13 lines, every method and every
other method's subset with `blp`; and where another's agreement, MDAD or error is better by more than the
paired 95 % interval, with what the recommendation then names at that size. It goes by what it measures on
your data, whoever is the best there.
"""
SIZES = (10, 25, 50, 100, 200, 300)
TARGETS = 40


def methods() -> list[Any]:
    """Every method, and every other method's subset with the best linear prediction."""
    blp = [{"method": name, "estimator": "blp"} for name in METHODS if name != OURS]
    return [*METHODS, *blp]


@dataclass(frozen=True, eq=False)
class Run:
    """One experiment, its estimates judged against one truth."""

    matrix: Matrix
    plan: Plan
    pieces: list[mdad_job.Piece]
    answer: dict[str, Any]

    @cached_property
    def evidence(self) -> Evidence:
        return gather(self.matrix, self.plan, grouped(self.pieces), None, _silent)

    @property
    def lines(self) -> list[Curve]:
        return self.evidence.lines

    def recommended(self, size: int) -> str:
        """What the recommendation names at a size, whatever the target."""
        lines = [replace(line, cells={size: line.cells[size]}) for line in self.lines if size in line.cells]
        for line in lines:
            line.curves.clear()
            line.set_curve(self.plan.truth, self.plan.outline.n_examples - self.plan.heldout)
        plan = replace(self.plan, target_mdad=1.0)
        found = recommend(replace(self.evidence, plan=plan, lines=lines))
        return found.method or "nothing"


def run(benchmark: Benchmark, sources: int, trials: int) -> list[Run]:
    """As /mdad does it, judged on new items and on the same ones.

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
    pieces = mdad_job.run_all(matrix, plans[0], _silent)
    return [Run(matrix, plan, pieces, mdad_job.assemble(matrix, plan, pieces, _silent)) for plan in plans]


def _silent(done: float) -> None:
    """Nobody asks how far it is."""


def beaten(found: Run) -> Iterator[str]:
    """Where another method orders models better than chance allows, a line each."""
    for row in found.answer["differences"]:
        if row["best"]["label"] == OURS:
            continue
        ours = next(other for other in row["others"] if other["label"] == OURS)
        for measure, sign in (("agreement", -1), ("mdad", 1)):
            ends = ours[measure]["interval"]
            if ends and None not in ends and min(sign * end for end in ends) > 0:
                gap = 100 * ours[measure]["difference"]
                where = f"{row['size']} examples, {row['truth'].replace('_', ' ')}"
                best, named = row["best"]["label"], found.recommended(row["size"])
                yield f"{where}: {measure} {gap:+.1f} points from {best}; recommended: {named}"


def missed(found: Run) -> Iterator[str]:
    """Where another's estimates are closer to the truth than chance allows, a line each. Errors in points."""
    for size in found.plan.sizes:
        cells = {line.spec.label: line.cells[size] for line in found.lines if size in line.cells}
        cells = {label: cell for label, cell in cells.items() if cell.errors is not None}
        gaps = {
            label: error_contrast(cells[OURS], cell, found.plan.truth)
            for label, cell in cells.items()
            if label != OURS
        }
        better = [label for label, gap in gaps.items() if gap.interval is not None and gap.interval[0] > 0]
        if better:
            best = max(better, key=lambda label: gaps[label].difference or 0.0)
            ours, theirs = (100 * float(cells[label].errors.values.mean()) for label in (OURS, best))
            yield (
                f"{size} examples: error {ours:.2f} points, {best} {theirs:.2f}; "
                f"recommended: {found.recommended(size)}"
            )


def section(parts: list[Benchmark], trials: int = 50) -> str:
    """The lines of the page, one a benchmark and number of sources, and those where it is not the best."""
    lines = [HEAD]
    for benchmark in parts:
        for sources in sorted({10, 50, benchmark.most_sources}):
            new, same = run(benchmark, sources, trials)
            bests = [row["best"]["label"] for part in (new, same) for row in part.answer["differences"]]
            lines.append(f"* {benchmark.name}, {sources} sources: {bests.count(OURS)} of {len(bests)}")
            lines += [f"    * {line}" for line in (*beaten(new), *beaten(same), *missed(same))]
    return "\n".join(lines)
