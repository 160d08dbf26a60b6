"""A recommendation in a few sentences; none calls a size good whose MDAD misses the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from service.engine.data.pairs import EQUAL
from service.engine.planning.plan import PULL_REQUEST_CHECK, Plan
from service.engine.planning.target_settings import NEW_MODELS, OWN
from service.engine.reliability.gates import RULE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.engine.reliability.evidence import Evidence
    from service.engine.reliability.gates import MethodGate
    from service.engine.reliability.recommendation import Recommendation

RANDOM = {
    "random": "drawn at random",
    "random (confidences)": "drawn at random and scored by confidence",
}


def sentence(evidence: Evidence, found: Recommendation, gates: Sequence[MethodGate] = ()) -> str:
    """What to do, and how far it can be trusted; differences in points."""
    if evidence.plan.purpose == PULL_REQUEST_CHECK:
        return _check(evidence, found, gates)
    plan, chance = evidence.plan, f"{100 * evidence.plan.probability:.3g} %"
    if found.status == "not_reached":
        return _not_reached(evidence, chance)
    if found.status != "recommended":
        return " ".join([_refusal(evidence, found, chance), *_resolution(evidence, found)])
    how = _chosen(plan, found.method, found.source_models)
    advice = f"Use {found.size} of {evidence.n_examples} examples {how}"
    order = f"come out in the order that {_truth(plan)} give them in {chance} of cases"
    first = f"{advice}: models {points(found.target_mdad)} or more apart {order}"
    return " ".join([f"{first}{_measured(found)}.", *_deciding(plan, found), *_resolution(evidence, found)])


def _deciding(plan: Plan, found: Recommendation) -> list[str]:
    """What models like the sources alone would need, where other kinds of new models ask for more."""
    alone = found.for_like_alone
    if alone is None or found.size is None or alone["size"] >= found.size:
        return []
    others = " or ".join(
        NEW_MODELS[one["setting"]] for one in found.by_setting or [] if one["setting"] != OWN
    )
    how = _chosen(plan, alone["method"], alone["source_models"])
    return [
        f"This holds for new models {others}, too; for models like the sources about {alone['size']} {how} "
        "would do (target_settings)."
    ]


def _check(evidence: Evidence, found: Recommendation, gates: Sequence[MethodGate]) -> str:
    """For a pull-request check."""
    plan = evidence.plan
    drop, power = points(plan.drop or 0), f"{100 * RULE.power:g} %"
    finds = f"the default gate finds a drop of {drop} in {power} of cases"
    if not gates:
        return f"All models have the same score, so nothing says on how many examples {finds}."
    if found.size is None:
        size = "all examples" if plan.max_size is None else f"more than {plan.max_size} examples"
        return f"Use the full benchmark: only on {size} {finds}."
    how = _chosen(plan, found.method, found.source_models)
    said = f"Use {found.size} of {evidence.n_examples} examples {how}: {finds}, and fails one equal model in "
    said += f"{round(2 / (1 - RULE.confidence))}."
    return said if found.mdad is None else f"{said} They order models {points(found.mdad)} apart (MDAD)."


def _measured(found: Recommendation) -> str:
    """The MDAD itself, and how the size would vary."""
    said = "" if found.mdad is None else f" (MDAD {points(found.mdad)})"
    low, high = found.size_interval or (None, None)
    if low is not None and high is not None and low < high:
        said += f"; other seeds would find {low} to {high} examples"
    return said


def _resolution(evidence: Evidence, found: Recommendation) -> list[str]:
    """What the full benchmark can do on new questions, and what the subset does."""
    if found.resolution is None or evidence.plan.purpose is None:
        return []
    said = f"All {evidence.n_examples} examples tell models {points(found.resolution)} apart on new questions"
    beside = found.other_purpose or {}
    mdad = found.mdad if evidence.plan.purpose == "new_questions" else beside.get("mdad")
    if found.size is not None and mdad is not None and mdad <= found.target_mdad:
        these = "this one tells" if found.size == 1 else f"these {found.size} tell"
        said += f"; {these} {points(mdad)}"
    sentences = [f"{said}."]
    if found.target_is_default:
        target = points(found.target_mdad)
        sentences.append(f"The target of {target} is 1.5 times that; name another with target_mdad.")
    elif found.target_mdad < found.resolution and evidence.plan.purpose != "new_questions":
        sentences.append("For new questions, the benchmark itself cannot tell models that close apart.")
    return sentences


def _not_reached(evidence: Evidence, chance: str) -> str:
    if not any(line.cells for line in evidence.lines):
        return "No method asked for could work on these data, so nothing was measured; the caveats say why."
    if np.ptp(evidence.matrix.accuracies) <= EQUAL:
        return "All models have the same score: there is no order for a smaller set to keep."
    orders = f"puts models in the order that {_truth(evidence.plan)} give them in {chance} of cases"
    return f"No method or size tested {orders}, however far apart they are."


def _refusal(evidence: Evidence, found: Recommendation, chance: str) -> str:
    plan, target = evidence.plan, points(found.target_mdad)
    orders = f"puts models {target} apart in the order that {_truth(plan)} give them in {chance} of cases"
    if found.status == "use_full_benchmark":
        whole = "whole subtask" if evidence.n_examples < plan.outline.n_examples else "full benchmark"
        refusal = f"Use the {whole}: no smaller size surely {orders}"
    elif plan.purpose == "new_questions" and found.target_mdad < (found.resolution or 0.0):
        refusal = (
            f"The target of {target} is missed: the benchmark itself cannot tell models that close apart"
        )
    else:
        tried = (
            f"no size up to {plan.max_size}" if plan.max_size is not None and plan.auto else "no size tested"
        )
        refusal = f"The target is missed: {tried} surely {orders}"
    best = found.best_tested
    if not best or best["mdad"] is None:
        return f"{refusal}."
    count = f"{best['size']} example{'s' * (best['size'] != 1)}"
    what = f"{count} {_chosen(plan, best['method'], best['source_models'])}"
    return f"{refusal}. The best tested, {what}: {points(best['mdad'])}."


def _truth(plan: Plan) -> str:
    if plan.truth == "new_items":
        return "new questions" if plan.purpose else "unseen examples"
    return "the examples chosen from" if plan.heldout else "all examples"


def _chosen(plan: Plan, method: str | None, sources: int | None) -> str:
    how = RANDOM.get(method or "", f"chosen by {method}")
    curve = len(plan.models.sources) > 1 and sources is not None
    return f"{how} from {sources} source models" if curve else how


def points(fraction: float) -> str:
    """A difference as people read it: three digits."""
    number = f"{100 * fraction:.3g}"
    return f"{number} point" if number == "1" else f"{number} points"
