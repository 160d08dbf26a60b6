"""What a reader must know before following a recommendation."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from service.engine.data.matrix import Matrix
from service.engine.experiment.curves import NEW, SAME, Cell, Curve
from service.engine.measures.bootstrap import ALL, LEAST_MODELS
from service.engine.measures.evaluate import edges
from service.engine.measures.mdad import first_crossing_bin, isotonic_bin
from service.engine.planning.plan import Plan
from service.engine.reliability.wording import points

MUCH_LARGER = 0.02
"""By how much the recommended method's estimation error may exceed the least before a caveat says so."""


def caveats(plan: Plan, matrix: Matrix, lines: list[Curve], answer: dict[str, Any]) -> list[str]:
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


def _about_choice(plan: Plan, lines: list[Curve], answer: dict[str, Any]) -> Iterator[str]:
    if answer["status"] == "recommended":
        mdad, interval = answer["mdad"], answer["interval"]
        if mdad is None or mdad > plan.target_mdad + 1e-9:
            yield "On the trials not used to choose it, the recommended size misses the target."
        elif interval and (interval[1] is None or interval[1] > plan.target_mdad + 1e-9):
            yield _about_interval(answer)
        yield from _about_chosen(plan, lines, answer)
    elif plan.truth == NEW and _reached(plan, lines, SAME) and not _reached(plan, lines, NEW):
        yield (
            "The target is reached on the same items but not on new ones: the held-out examples are "
            "themselves too few to tell such models apart."
        )
    if plan.models.sources and min(plan.models.sources) < LEAST_MODELS:
        yield f"Fewer than {LEAST_MODELS} source models: methods that learn from them are at a disadvantage."


def _about_interval(answer: dict[str, Any]) -> str:
    ends = "The interval of the recommended size's MDAD ends above the target"
    size = answer["relied_on_size"]
    sure = "no size tested has one that ends within it" if size is None else f"that of size {size} does not"
    return f"{ends}; {sure}."


def _about_chosen(plan: Plan, lines: list[Curve], answer: dict[str, Any]) -> Iterator[str]:
    size, name = answer["size"], {"label": answer["method"], "source_models": answer["source_models"]}
    yield from _about_growth(plan, next(line.cells[size] for line in lines if line.name == name))
    errors = {
        line.spec.label: error["mean"]
        for line in lines
        if size in line.cells
        and (error := line.cells[size].extra.get(plan.truth, {}).get("estimation_error"))
    }
    least = min(errors, key=errors.__getitem__, default=None)
    ours = (answer["estimation_error"] or {}).get("mean", 0.0)
    if least is not None and ours > max(2 * errors[least], errors[least] + MUCH_LARGER):
        ours, theirs = points(round(ours, 3)), points(round(errors[least], 3))
        yield (
            f"Scores estimated by {answer['method']} are off by {ours} on average, those of {least} by "
            f"{theirs}: trust {answer['method']} for the order of models, not for their scores."
        )


def _about_growth(plan: Plan, cell: Cell) -> Iterator[str]:
    judged, curve = cell.judged[plan.truth]
    weight, credit = judged.weight[ALL][:, None], judged.credit()[curve][:, None]
    find = (first_crossing_bin, isotonic_bin)
    first, stays = (float(edges(each(weight, credit, plan.probability))[0]) for each in find)
    if first < stays:
        yield (
            f"Agreement does not grow steadily: it first reaches {100 * plan.probability:.3g} % at "
            f"{points(first)} and stays there only from {points(stays)} on."
        )


def _reached(plan: Plan, lines: list[Curve], truth: str) -> bool:
    cells = [cell for line in lines for cell in line.cells.values() if truth in cell.judged]
    return any(cell.mdad(truth) <= plan.target_mdad + 1e-9 for cell in cells)


def _about_data(plan: Plan, matrix: Matrix) -> Iterator[str]:
    constant, examples = int(matrix.constant.sum()), len(matrix.examples)
    if constant:
        have, tell = ("has", "tells") if constant == 1 else ("have", "tell")
        alike = f"{constant} of {examples} examples {have} the same score for every model"
        yield f"{alike} and {tell} none apart."
    repeats = len(matrix.models) - len({sha256(row.tobytes()).digest() for row in matrix.scores})
    if repeats:
        many = "1 model answers" if repeats == 1 else f"{repeats} models answer"
        yield f"{many} exactly as another one does; such pairs have no order."
    if not matrix.binary:
        yield "Scores are graded: the numbers for exact random sampling are a normal approximation."
    if any(spec.method == "stratified" for spec in plan.specs) and len(matrix.subtasks) < 2:
        yield "Without subtasks, stratified draws are the same as random ones."
