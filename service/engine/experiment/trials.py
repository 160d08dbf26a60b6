"""One trial: every method chooses from the sources' results and estimates the targets' scores.

Source: the experiment of "How Reliable is Language Model Micro-Benchmarking?" (arXiv
2510.08730): target and source models drawn apart, examples split in halves, 50 trials.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from service.engine.data.contracts import Fitted, Subset
from service.engine.data.errors import Unsuitable
from service.engine.data.matrix import Matrix
from service.engine.experiment.estimates import Estimates
from service.engine.experiment.splits import Splitter
from service.engine.experiment.trial_data import TrialData
from service.engine.planning.plan import Plan, Spec
from service.engine.selection.registry import LEARNS_NOTHING

Check = Callable[[float], None]

REFITTED_TRIALS = 3
"""Trials in which each method is fitted twice, to report how stable its choice is."""
COVERED_TRIALS = 3
"""Trials in which intervals of scores are looked at."""
LEVEL = 0.9


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the result: a spec with a number of source models (None: it looks at none)."""

    spec: Spec
    sources: int | None


def entries(plan: Plan) -> tuple[Entry, ...]:
    """The lines that need trials; several for each spec of a learning curve."""
    return tuple(
        Entry(spec, sources)
        for spec in plan.simulated
        for sources in (plan.models.sources if spec.needs_sources else (None,))
    )


def units(plan: Plan, matrix: Matrix) -> tuple[int | None, ...]:
    """What is estimated: the whole benchmark (None) and, on request, each subtask."""
    return (None, *range(len(matrix.subtasks))) if plan.by_subtask else (None,)


def run_trials(plan: Plan, matrix: Matrix, first: int, last: int, check: Check) -> Estimates:
    """Trials first … last − 1.

    Parameters
    ----------
    matrix : Matrix
        Complete.
    check : callable
        Called with the fraction done after every fit; may raise Stopped.
    """
    lines, parts = entries(plan), units(plan, matrix)
    labels = tuple(spec.label for spec in plan.simulated)
    room = Estimates.empty(len(parts), len(lines), plan.sizes, labels, (last - first, plan.models.targets))
    groups = _groups(lines)
    steps = max(1, (last - first) * len(parts) * len(groups))
    splitter = Splitter(plan, matrix)
    done = 0
    for at, trial in enumerate(range(first, last)):
        split = splitter.draw(trial)
        room.targets[at] = split.targets
        for unit, subtask in enumerate(parts):
            view = TrialData(plan, matrix, trial, split, subtask)
            room.same[unit, at], room.new[unit, at] = view.true_sums()
            for group in groups:
                _run_group(view, group, lines, room, unit, at)
                done += 1
                check(done / steps)
    return room


def _groups(lines: tuple[Entry, ...]) -> list[list[int]]:
    """Positions of the entries that one fit serves."""
    groups: dict[tuple[str, int | None], list[int]] = {}
    for at, line in enumerate(lines):
        groups.setdefault((line.spec.fit_key, line.sources), []).append(at)
    return list(groups.values())


def _not_skipped(room: Estimates, unit: int, group: list[int], position: int) -> list[int]:
    return [entry for entry in group if (unit, entry, position) not in room.skipped]


def _run_group(
    view: TrialData, group: list[int], lines: tuple[Entry, ...], room: Estimates, unit: int, at: int
) -> None:
    """Fit once, pick every size, estimate with every estimator of the group."""
    fits: list[Fitted] = []
    for position, size in enumerate(view.plan.sizes):
        wanted = _not_skipped(room, unit, group, position)
        if not wanted or size > view.n_examples:
            continue
        line = lines[wanted[0]]
        try:
            fits = fits or view.fit(line.spec, line.sources, 1 + (view.trial < REFITTED_TRIALS))
            subsets = [fit.pick(size) for fit in fits]
            for entry in wanted:
                spec, cell = lines[entry].spec, (unit, entry, position, at)
                room.scores[cell] = view.estimate(spec, line.sources, fits[0], subsets[0])
                room.overlap[cell] = jaccard(subsets)
                if unit == 0 and _is_covered(view, spec):
                    room.covered[entry, position, at] = view.coverage(line.sources, subsets[0], LEVEL)
        except Unsuitable as reason:
            sizes = [position] if fits else range(len(view.plan.sizes))
            room.skipped.update(dict.fromkeys(product([unit], wanted, sizes), str(reason)))


def _is_covered(view: TrialData, spec: Spec) -> bool:
    """Whether the coverage of its intervals is measured in this trial."""
    return view.trial < COVERED_TRIALS and served(spec)


def served(spec: Spec) -> bool:
    """Whether scores on its examples are served with a predictor's interval."""
    sample = spec.method in LEARNS_NOTHING and not spec.predicts
    return spec.scored_by == "scores" and not sample


def jaccard(subsets: list[Subset]) -> float:
    """Share of common examples between the choices of two fits; NaN for one fit."""
    if len(subsets) < 2:
        return np.nan
    first, second = (set(subset.indices.tolist()) for subset in subsets)
    return len(first & second) / len(first | second)
