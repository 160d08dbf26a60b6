"""Judged methods and sizes → one recommendation, and what to know before following it.

The method and size are chosen on the even trials and reported on the odd ones:
the best of many on the trials that chose it looks better than it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from service.engine.data.matrix import Matrix
from service.engine.experiment.curves import SAME, Curve
from service.engine.measures.bootstrap import LEAST_MODELS, ODD
from service.engine.measures.evaluate import judgement
from service.engine.planning.plan import Plan
from service.engine.reliability.caveats import caveats
from service.engine.reliability.choice import MethodChoice, choose, complexity, relied_on_size, smallest_size
from service.engine.reliability.contrasts import contrast
from service.engine.reliability.own_pairs import close_pairs
from service.engine.reliability.wording import sentence

LISTED_PAIRS = 20


def recommend(plan: Plan, matrix: Matrix, lines: list[Curve], random: Curve) -> dict[str, Any]:
    """The recommendation of a result.

    Parameters
    ----------
    lines : list of Curve
    random : Curve
        Random sampling from the full benchmark, exact.

    Returns
    -------
    dict
        With `status` recommended, use_full_benchmark, not_reached or not_enough_models.
    """
    usable = [line for line in lines if any(plan.truth in cell.judged for cell in line.cells.values())]
    choice = choose(plan, usable) if plan.models.targets >= LEAST_MODELS else None
    if choice is not None and choice.size == len(matrix.examples):
        choice = None
    answer: dict[str, Any] = {
        "status": _status(plan, usable, choice),
        "target_mdad": plan.target_mdad,
        "probability": plan.probability,
        "truth": plan.truth,
        "method": None,
        "source_models": None,
        "size": None,
        "select": None,
        "fraction": None,
        "mdad": None,
        "interval": None,
        "agreement": None,
        "agreement_interval": None,
        "estimation_error": None,
        "relied_on_size": None,
        "exact_random": None,
        "best_tested": _best_tested(plan, len(matrix.examples), usable),
    }
    if choice is not None:
        answer |= _chosen(plan, matrix, choice, random)
    threshold = plan.target_mdad if answer["mdad"] is None else answer["mdad"]
    own = close_pairs(matrix, np.arange(len(matrix.models)), threshold, most=LISTED_PAIRS)
    answer |= {
        "random_enough_from": _random_enough_from(plan, usable),
        "own_pairs": {"threshold": threshold, **own},
        "alternatives": _alternatives(plan, usable),
        "caveats": caveats(plan, matrix, lines, answer),
    }
    return answer | {"sentence": sentence(plan, matrix, answer)}


def _status(plan: Plan, lines: list[Curve], choice: MethodChoice | None) -> str:
    if plan.models.targets < LEAST_MODELS:
        return "not_enough_models"
    if choice is not None:
        return "recommended"
    found = any(np.isfinite(cell.mdad(plan.truth)) for line in lines for cell in line.cells.values())
    return "use_full_benchmark" if found else "not_reached"


def _chosen(plan: Plan, matrix: Matrix, choice: MethodChoice, random: Curve) -> dict[str, Any]:
    judged, curve = choice.cell.judged[plan.truth]
    report = judgement(judged, curve, choice.reported)
    halves = choice.reported == ODD
    return {
        "method": choice.line.spec.label,
        "source_models": choice.line.sources,
        "size": choice.size,
        "select": _select(choice),
        "fraction": choice.size / len(matrix.examples),
        **{key: report[key] for key in ("mdad", "interval", "agreement", "agreement_interval")},
        "estimation_error": choice.cell.extra.get(plan.truth, {}).get("estimation_error"),
        "relied_on_size": relied_on_size(choice.line, plan),
        "chosen_on": "even trials" if halves else "all trials",
        "reported_on": "odd trials" if halves else "all trials",
        "exact_random": _beside(random, choice.size),
    }


def _select(choice: MethodChoice) -> dict[str, Any]:
    """What to send to `/select`, beside the matrix, for these examples."""
    spec = choice.line.spec.as_json()
    return {key: spec[key] for key in ("method", "estimator", "options", "scored_by")} | {"size": choice.size}


def _best_tested(plan: Plan, n_examples: int, lines: list[Curve]) -> dict[str, Any] | None:
    """The smallest size among those with the lowest MDAD on all trials, and the simplest method at it."""
    cells = [
        (line.cells[size].mdad(plan.truth), size, complexity(line), line)
        for line in lines
        for size in line.cells
        if size < n_examples and (plan.max_size is None or size <= plan.max_size)
    ]
    if not cells:
        return None
    mdad, size, _, line = min(cells, key=lambda cell: cell[:3])
    if not np.isfinite(mdad):
        return None
    judged, curve = line.cells[size].judged[plan.truth]
    report = judgement(judged, curve)
    kept = {key: report[key] for key in ("mdad", "interval", "agreement", "agreement_interval")}
    return {"method": line.spec.label, "source_models": line.sources, "size": size, **kept}


def _beside(random: Curve, size: int) -> dict[str, Any] | None:
    if size not in random.cells:
        return None
    judged, curve = random.cells[size].judged[SAME]
    report = judgement(judged, curve)
    return {key: report[key] for key in ("mdad", "interval", "agreement", "agreement_interval")}


def _alternatives(plan: Plan, lines: list[Curve]) -> list[dict[str, Any]]:
    answer = []
    for line in lines:
        size = smallest_size(line, plan)
        answer.append(
            {
                "method": line.spec.label,
                "source_models": line.sources,
                "size": size,
                "mdad": None if size is None else line.cells[size].mdad(plan.truth),
                "relied_on_size": relied_on_size(line, plan),
            }
        )
    return answer


def _random_enough_from(plan: Plan, lines: list[Curve]) -> int | None:
    """Smallest size from which on no method's agreement is clearly above random's."""
    random = next((line for line in lines if _is_plain_random(line)), None)
    if random is None or len(lines) < 2:
        return None
    enough = None
    for size in sorted(random.cells, reverse=True):
        for line in lines:
            if line is random or size not in line.cells:
                continue
            gap = contrast(random.cells[size], line.cells[size], plan.truth)["agreement"]["interval"]
            if gap is None or gap[1] < 0:
                return enough
        enough = size
    return enough


def _is_plain_random(line: Curve) -> bool:
    return line.spec.method == "random" and not line.spec.predicts and line.spec.scored_by == "scores"
