"""A recommendation in one sentence."""

from __future__ import annotations

from typing import Any

from service.engine.matrix import Matrix
from service.engine.plan import Plan
from service.engine.resampling import LEAST_MODELS


def sentence(plan: Plan, matrix: Matrix, answer: dict[str, Any]) -> str:
    """What to do, and how far it can be trusted; differences in points."""
    chance = f"{100 * plan.probability:.3g} %"
    kind = "new items" if plan.truth == "new_items" else "the same items"
    if answer["status"] == "not_enough_models":
        few = f"{plan.models.targets} target models are too few to recommend a size"
        return f"{few}; at least {LEAST_MODELS} are needed."
    if answer["status"] == "not_reached":
        return f"No method or size tested orders models as {kind} do in {chance} of cases, however far apart."
    if answer["status"] == "use_full_benchmark":
        apart = f"models {_points(plan.target_mdad)} apart as {kind} do"
        refusal = f"Use the full benchmark: no smaller size tested orders {apart} in {chance} of cases"
        best = answer["best_tested"]
        if not best:
            return f"{refusal}."
        what = f"{best['size']} examples chosen by {best['method']}"
        return f"{refusal}; the best, {what}, does so from {_points(best['mdad'])} on."
    advice = f"Use {answer['size']} of {len(matrix.examples)} examples chosen by {answer['method']}"
    if answer["mdad"] is None:
        return f"{advice}, with care: on the trials that did not choose it, it does not reach {chance}."
    return f"{advice}: models that differ {_gap(answer)} are ordered as {kind} do in {chance} of cases."


def _gap(answer: dict[str, Any]) -> str:
    ends = answer["interval"]
    upper = (
        "" if not ends or ends[1] is None else f" (95 % interval {100 * ends[0]:.3g} to {100 * ends[1]:.3g})"
    )
    return f"by {_points(answer['mdad'])} or more{upper}" if answer["mdad"] else f"at all{upper}"


def _points(fraction: float) -> str:
    points = f"{100 * fraction:.3g}"
    return f"{points} point" if points == "1" else f"{points} points"
