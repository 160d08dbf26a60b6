"""Estimates of all trials → the result of an experiment, as plain JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from service.engine.data.matrix import Matrix
from service.engine.experiment.curves import Curve
from service.engine.experiment.estimates import Estimates
from service.engine.experiment.exact import WholeBenchmark, exact_curve, random_curve, sampling_note
from service.engine.experiment.simulated import Simulated
from service.engine.experiment.splits import heldout_counts
from service.engine.experiment.trials import units
from service.engine.measures.evaluate import AgreementRule
from service.engine.planning.plan import Plan
from service.engine.reliability.contrasts import differences
from service.engine.reliability.recommendation import recommend
from service.engine.reliability.subtasks import group_report

Check = Callable[[float], None]


def assemble_result(matrix: Matrix, plan: Plan, estimates: Estimates, check: Check) -> dict[str, Any]:
    """The benchmark's result; with `by_subtask` each subtask's own in `subtasks`."""
    parts = units(plan, matrix)
    held = heldout_counts(matrix.strata, plan.heldout)
    results = []
    for unit, subtask in enumerate(parts):
        check(unit / len(parts))
        if subtask is None:
            results.append(_unit_result(matrix, plan, estimates, unit, int(held.sum()), check))
        else:
            part = matrix.take(examples=np.flatnonzero(matrix.strata == subtask))
            results.append(_unit_result(part, plan, estimates, unit, int(held[subtask]), check))
    answer: dict[str, Any] = {"settings": plan.settings, **results[0]}
    if plan.by_subtask:
        names = zip(matrix.subtasks, results[1:], strict=True)
        answer["subtasks"] = [{"subtask": name, **result} for name, result in names]
    plain: dict[str, Any] = _plain(answer)
    return plain


def judged_lines(
    matrix: Matrix, plan: Plan, simulated: Simulated | None, sizes: tuple[int, ...], check: Check
) -> tuple[list[Curve], Curve]:
    """Every method as a line, in the order of the request, and random sampling by formula."""
    rule = AgreementRule(plan.probability, plan.paper_compat)
    whole = WholeBenchmark.of(matrix, rule)
    lines = [] if simulated is None else simulated.lines(rule)
    random = random_curve(sizes, whole)
    lines += [exact_curve(spec, random, whole, check) for spec in plan.specs if spec not in plan.simulated]
    place = {spec.label: at for at, spec in enumerate(plan.specs)}
    return sorted(lines, key=lambda line: place[line.spec.label]), random


def _unit_result(
    matrix: Matrix, plan: Plan, estimates: Estimates, unit: int, heldout: int, check: Check
) -> dict[str, Any]:
    """Everything about the whole benchmark or one subtask of it."""
    left = len(matrix.examples) - heldout
    sizes = tuple(size for size in plan.sizes if size <= left)
    simulated = Simulated.of(plan, estimates, unit, left, heldout) if plan.simulated else None
    lines, random = judged_lines(matrix, plan, simulated, sizes, check)
    answer: dict[str, Any] = {
        "data": _data(matrix, plan, heldout) | (sampling_note(simulated.pairs) if simulated else {}),
        "methods": [line.as_json() for line in lines],
        "exact_random": [random.cells[s].as_json(s) | random.notes[s] for s in sizes],
        "differences": differences(lines, sizes, plan.truth),
        "recommendation": recommend(plan, matrix, lines, random),
    }
    if plan.group:
        answer["group"] = group_report(plan, matrix, simulated, sizes, check)
    return answer


def _data(matrix: Matrix, plan: Plan, heldout: int) -> dict[str, Any]:
    """What the experiment had; a model's score is its mean over examples (micro), not over subtasks."""
    counts = plan.models.sources
    return {
        "models": len(matrix.models),
        "examples": len(matrix.examples),
        "source_models": list(counts) if len(counts) > 1 else max(counts, default=0),
        "target_models": plan.models.targets,
        "selection_examples": len(matrix.examples) - heldout,
        "heldout_examples": heldout,
        "constant_examples": int(matrix.constant.sum()),
        "binary": matrix.binary,
        "estimand": "micro",
    }


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON
    """JSON types only; floats to ten decimals, so that the last bit of a machine does not show."""
    if isinstance(value, float | np.floating):
        return round(float(value), 10) + 0.0 if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.integer):
        return int(value)
    return value
