"""What a reader must know before following a recommendation."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from service.engine.lines import NEW, SAME, Line
from service.engine.matrix import Matrix
from service.engine.plan import Plan
from service.engine.resampling import LEAST_MODELS


def caveats(plan: Plan, matrix: Matrix, lines: list[Line], answer: dict[str, Any]) -> list[str]:
    """Sentences, the weightiest first."""
    return [
        *_about_evidence(plan, answer),
        *_about_choice(plan, lines, answer),
        *_about_data(plan, matrix),
        *(
            f"{line.spec.label} was skipped: {reason}."
            for line in lines
            if not line.cells
            for reason in list(line.reasons.values())[:1]
        ),
    ]


def _about_evidence(plan: Plan, answer: dict[str, Any]) -> Iterator[str]:
    targets = plan.models.targets
    if targets < LEAST_MODELS:
        yield f"{targets} target models give no interval and no recommendation; name at least {LEAST_MODELS}."
    elif targets < 2 * LEAST_MODELS:
        yield f"Only {targets} target models: the numbers depend on which they are."
    if plan.simulated and plan.trials < 10:
        yield f"Only {plan.trials} trials: the numbers depend on the draws; the default is 50."
    if answer["status"] == "recommended" and plan.simulated and plan.trials < 2:
        yield "One trial both chose and reports the method; two or more would separate the two."


def _about_choice(plan: Plan, lines: list[Line], answer: dict[str, Any]) -> Iterator[str]:
    if answer["status"] == "recommended":
        mdad, interval = answer["mdad"], answer["interval"]
        if mdad is None or mdad > plan.target_mdad + 1e-9:
            yield "On the trials not used to choose it, the recommended size misses the target."
        elif interval and (interval[1] is None or interval[1] > plan.target_mdad + 1e-9):
            yield "The interval of the MDAD ends above the target; relied_on_size is the size to rely on."
    elif plan.truth == NEW and _reached(plan, lines, SAME) and not _reached(plan, lines, NEW):
        yield (
            "The target is reached on the same items but not on new ones: the held-out examples are "
            "themselves too few to tell such models apart."
        )
    if plan.models.sources and min(plan.models.sources) < LEAST_MODELS:
        yield f"Fewer than {LEAST_MODELS} source models: methods that learn from them are at a disadvantage."


def _reached(plan: Plan, lines: list[Line], truth: str) -> bool:
    cells = [cell for line in lines for cell in line.cells.values() if truth in cell.judged]
    return any(cell.mdad(truth) <= plan.target_mdad + 1e-9 for cell in cells)


def _about_data(plan: Plan, matrix: Matrix) -> Iterator[str]:
    constant, examples = int(matrix.constant.sum()), len(matrix.examples)
    if constant:
        yield f"{constant} of {examples} examples have the same score for every model and tell none apart."
    repeats = len(matrix.models) - len({sha256(row.tobytes()).digest() for row in matrix.scores})
    if repeats:
        yield f"{repeats} models answer exactly as another one does; such pairs have no order."
    if not matrix.binary:
        yield "Scores are graded: the numbers for exact random sampling are a normal approximation."
    if any(spec.method == "stratified" for spec in plan.specs) and len(matrix.subtasks) < 2:
        yield "Without subtasks, stratified draws are the same as random ones."
