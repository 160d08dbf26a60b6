"""A named group of similar models: which of its own comparisons each size preserves.

Source: arXiv 2510.08730, the comparison of models of the same size (8B).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from service.engine.data.matrix import Matrix
from service.engine.experiment.curves import NEW, SAME, Cell, Curve
from service.engine.experiment.exact import WholeBenchmark, exact_curve, random_curve
from service.engine.experiment.splits import positions
from service.engine.measures.evaluate import AgreementRule, judgement
from service.engine.planning.plan import Plan
from service.engine.reliability.own_pairs import close_pairs
from service.engine.reliability.stages import Groups, both_stages

Check = Callable[[float], None]
LISTED_PAIRS = 200
KEPT = (
    "agreement",
    "agreement_interval",
    "agreement_strict",
    "tie_rate",
    "pairs",
    "equal_pairs",
    "interval_reason",
)


def group_report(plan: Plan, matrix: Matrix, groups: Groups, random: Curve, check: Check) -> dict[str, Any]:
    """Share of the group's pairs preserved by method and size, exact random, and the pairs.

    Pairs are listed neighbours in rank first, with difference and disagreement on
    the full benchmark.

    Parameters
    ----------
    random : Curve
        Of all models, by formula, for its sizes.
    """
    rule = AgreementRule(plan.probability, plan.paper_compat)
    rows = positions(matrix.models, plan.group)
    whole = WholeBenchmark.of(matrix.take(models=rows), rule)
    members = np.zeros(len(matrix.models), dtype=np.bool_)
    members[rows] = True
    simulated = plan.simulated
    lines = (
        list(both_stages(matrix, plan, groups, plan.heldout, members=members).values()) if simulated else []
    )
    beside = random_curve(tuple(random.cells), whole)
    lines += [exact_curve(spec, beside, whole, check) for spec in plan.distinct if spec not in simulated]
    return {
        "models": list(plan.group),
        "pairs": [asdict(pair) for pair in close_pairs(matrix, rows, np.inf, most=LISTED_PAIRS).examples],
        "methods": [_line(line) for line in lines],
        "exact_random": _line(beside)["sizes"],
    }


def _line(line: Curve) -> dict[str, Any]:
    sizes = [{"size": size, **_cell(cell)} for size, cell in sorted(line.cells.items())]
    return {**line.name, "sizes": sizes}


def _cell(cell: Cell) -> dict[str, Any]:
    answer: dict[str, Any] = {SAME: None, NEW: None}
    for truth, (result, curve) in cell.results.items():
        full = judgement(result, curve)
        answer[truth] = {key: full[key] for key in KEPT if key in full}
    return answer
