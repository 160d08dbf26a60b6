"""A named group of similar models: which of its own comparisons each size preserves.

Source: arXiv 2510.08730, the comparison of models of the same size (8B).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from service.engine.judge import Rule, judgement
from service.engine.matrix import Matrix
from service.engine.own_pairs import close_pairs
from service.engine.plan import Plan
from service.engine.simulated import Simulated
from service.engine.splits import positions

KEPT = ("agreement", "agreement_interval", "agreement_strict", "tie_rate", "pairs", "equal_pairs")


def group_report(plan: Plan, matrix: Matrix, simulated: Simulated, rule: Rule) -> dict[str, Any]:
    """Share of the group's pairs preserved by method and size, and its pairs by closeness."""
    rows = positions(matrix.models, plan.group)
    members = np.isin(simulated.target_rows, rows)
    judged = {truth: simulated.judge(truth, rule, members) for truth in simulated.truths}
    methods: list[dict[str, Any]] = [
        {"label": e.spec.label, "source_models": e.sources, "sizes": []} for e in simulated.entries
    ]
    for at, (entry, size) in enumerate(simulated.curves):
        cell: dict[str, Any] = {"size": plan.sizes[size]}
        for truth, evidence in judged.items():
            full = judgement(evidence, at)
            cell[truth] = {key: full[key] for key in KEPT} | {
                key: full[key] for key in ("reason", "interval_reason") if key in full
            }
        methods[entry]["sizes"].append(cell)
    return {
        "models": list(plan.group),
        "pairs": close_pairs(matrix, rows, np.inf, most=200)["examples"],
        "methods": methods,
    }
