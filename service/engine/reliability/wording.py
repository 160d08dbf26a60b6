"""A recommendation in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from service.engine.data.matrix import Matrix
from service.engine.data.pairs import EQUAL
from service.engine.measures.bootstrap import LEAST_MODELS
from service.engine.planning.plan import Plan

RANDOM = {
    "random": "drawn at random",
    "random (confidences)": "drawn at random and scored by confidence",
}


def sentence(plan: Plan, matrix: Matrix, answer: dict[str, Any]) -> str:
    """What to do, and how far it can be trusted; differences in points."""
    chance = f"{100 * plan.probability:.3g} %"
    if answer["status"] == "not_enough_models":
        few = f"{plan.models.targets} target models are too few to recommend a size"
        return f"{few}; at least {LEAST_MODELS} are needed."
    if answer["status"] == "not_reached" and not answer["alternatives"]:
        return "No method asked for could work on these data, so nothing was measured; the caveats say why."
    if answer["status"] == "not_reached" and np.ptp(matrix.accuracies) <= EQUAL:
        return "All models have the same score: there is no order for a smaller set to keep."
    if answer["status"] == "not_reached":
        orders = f"puts models in the order that {_truth(plan)} give them in {chance} of cases"
        return f"No method or size tested {orders}, however far apart they are."
    if answer["status"] == "use_full_benchmark":
        return _everything(plan, matrix, answer, chance)
    advice = f"Use {answer['size']} of {len(matrix.examples)} examples {_chosen(plan, answer)}"
    if answer["mdad"] is None:
        return f"{advice}, with care: on the trials that did not choose it, it does not reach {chance}."
    order = f"come out in the order that {_truth(plan)} give them in {chance} of cases"
    return f"{advice}: models {_apart(answer)} {order}."


def _everything(plan: Plan, matrix: Matrix, answer: dict[str, Any], chance: str) -> str:
    one_subtask = len(matrix.examples) < plan.outline.n_examples
    advice = "Use the whole subtask" if one_subtask else "Use the full benchmark"
    sizes = "no smaller size tested" if plan.max_size is None else f"no size tested up to {plan.max_size}"
    models = f"models {points(plan.target_mdad)} apart"
    refusal = f"puts {models} in the order that {_truth(plan)} give them in {chance} of cases"
    best = answer["best_tested"]
    if not best:
        return f"{advice}: {sizes} {refusal}."
    what = f"{best['size']} example{'s' * (best['size'] != 1)} {_chosen(plan, best)}"
    if best["mdad"] <= plan.target_mdad + 1e-9:
        return (
            f"{advice}: {sizes} surely {refusal}; the best, {what}, does so on all trials "
            "together but not on the half of them that chooses. More trials may settle it."
        )
    reached = f"the best, {what}, does so from {points(best['mdad'])} on"
    return f"{advice}: {sizes} {refusal}; {reached}."


def _truth(plan: Plan) -> str:
    if plan.truth == "new_items":
        return "unseen examples"
    return "the examples chosen from" if plan.heldout else "all examples"


def _chosen(plan: Plan, answer: dict[str, Any]) -> str:
    how = RANDOM.get(answer["method"], f"chosen by {answer['method']}")
    curve = len(plan.models.sources) > 1 and answer["source_models"] is not None
    return f"{how} from {answer['source_models']} source models" if curve else how


def _apart(answer: dict[str, Any]) -> str:
    ends = answer["interval"]
    gap = f"{points(answer['mdad'])} or more apart" if answer["mdad"] else "that differ at all"
    if not ends:
        return gap
    low = f"{100 * ends[0]:.3g}"
    return f"{gap} (95 % interval {f'from {low} up' if ends[1] is None else f'{low} to {100 * ends[1]:.3g}'})"


def points(fraction: float) -> str:
    """A difference as people read it."""
    number = f"{100 * fraction:.3g}"
    return f"{number} point" if number == "1" else f"{number} points"
