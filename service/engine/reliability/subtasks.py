"""A named group of similar models: which of its own comparisons each size preserves.

Source: arXiv 2510.08730, the comparison of models of the same size (8B).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from service.engine.data.matrix import Matrix
from service.engine.experiment.curves import NEW, SAME, Cell, Curve
from service.engine.experiment.exact import WholeBenchmark, exact_curve, random_curve
from service.engine.experiment.simulated import Simulated
from service.engine.experiment.splits import positions
from service.engine.measures.evaluate import AgreementRule, judgement
from service.engine.planning.plan import Plan
from service.engine.reliability.own_pairs import close_pairs

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


def group_report(
    plan: Plan, matrix: Matrix, simulated: Simulated | None, sizes: tuple[int, ...], check: Check
) -> dict[str, Any]:
    """Share of the group's pairs preserved by method and size, exact random, and the pairs.

    Pairs are listed neighbours in rank first, with difference and disagreement on
    the full benchmark.
    """
    rule = AgreementRule(plan.probability, plan.paper_compat)
    rows = positions(matrix.models, plan.group)
    whole = WholeBenchmark.of(matrix.take(models=rows), rule)
    lines = [] if simulated is None else simulated.lines(rule, np.isin(simulated.target_rows, rows))
    random = random_curve(sizes, whole)
    lines += [exact_curve(spec, random, whole, check) for spec in plan.specs if spec not in plan.simulated]
    return {
        "models": list(plan.group),
        "pairs": close_pairs(matrix, rows, np.inf, most=LISTED_PAIRS)["examples"],
        "methods": [_line(line) for line in lines],
        "exact_random": _line(random)["sizes"],
    }


def _line(line: Curve) -> dict[str, Any]:
    sizes = [{"size": size, **_cell(cell)} for size, cell in sorted(line.cells.items())]
    return {**line.name, "sizes": sizes}


def _cell(cell: Cell) -> dict[str, Any]:
    answer: dict[str, Any] = {SAME: None, NEW: None}
    for truth, (judged, curve) in cell.judged.items():
        full = judgement(judged, curve)
        answer[truth] = {key: full[key] for key in KEPT if key in full}
    return answer
