"""What the default gate of `/compare` finds on chosen examples, beside what their MDAD says of the order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from service.engine.comparison.gate import GateRule
from service.engine.comparison.planned_gate import Choice, PlannedGate, planned_gate
from service.engine.comparison.power import group_disagreement
from service.engine.data.contracts import Source, Subset
from service.engine.data.errors import Unsuitable
from service.engine.data.matrix import Matrix
from service.engine.planning.methods import Spec
from service.engine.planning.plan import Plan
from service.engine.prediction.ability_prior import Expect
from service.engine.selection.registry import LEARNS_NOTHING

RULE = GateRule(margin=0.0, confidence=0.9, power=0.8, preset="regression")
"""The default gate."""
DROP = 0.05
"""True drop of the pairs that a gate is measured on where none was named."""
SIZES = (25, 50, 100, 250, 500)


@dataclass(frozen=True, slots=True)
class MethodGate:
    """The gate on the examples that one method chooses; `source_models` as in the line."""

    label: str
    source_models: int | None
    gate: PlannedGate

    def as_json(self) -> dict[str, Any]:
        """As an entry of `gates`."""
        return {
            "label": self.label,
            "source_models": self.source_models,
            "drop": self.gate.drop,
            "size": self.gate.size,
            "pairs": self.gate.pairs,
            "by_size": [at.as_json() for at in self.gate.by_size],
            **rule_fields(),
        }


def rule_fields() -> dict[str, Any]:
    """What the gate goes by."""
    return {"preset": RULE.preset, "margin": RULE.margin, "confidence": RULE.confidence, "power": RULE.power}


def judge_gates(
    matrix: Matrix,
    plan: Plan,
    lines: Iterable[tuple[Spec, int | None]],
    sizes: Sequence[int],
    check: Callable[[float], None],
) -> list[MethodGate]:
    """The default gate on the examples of each line; lines that cannot work on these data are left out.

    Parameters
    ----------
    matrix : Matrix
        Complete.
    lines : iterable of (Spec, int or None)
        Method and number of source models.
    sizes : sequence of int
        Measured beside those of `SIZES`.
    check : callable
        May raise Stopped.
    """
    source = Source(matrix.scores, matrix.strata, matrix.confidences, matrix.embeddings)
    total = len(matrix.examples)
    wanted = sorted({size for size in (*SIZES, *sizes) if size < total}) or [total]
    disagreement = group_disagreement(matrix.scores).median
    found = []
    for spec, sources in lines:
        check(0.0)
        try:
            gate = planned_gate(
                plan.drop or DROP,
                wanted,
                RULE,
                total=total,
                disagreement=disagreement,
                source=source,
                choice=choice_of(spec, plan.expect),
            )
        except Unsuitable:
            continue
        found.append(MethodGate(spec.label, sources, gate))
    return found


def choice_of(spec: Spec, expect: Expect) -> Choice:
    """How a method chooses, as a gate is planned on it."""

    def fit(source: Source, rng: np.random.Generator) -> Callable[[int], Subset]:
        return spec.create().fit(source, rng).pick

    return Choice(fit, spec.method, spec.options, drawn=spec.method in LEARNS_NOTHING, expect=expect)


def smallest_gate(gates: Sequence[MethodGate], plan: Plan) -> MethodGate | None:
    """The gate with the fewest examples that finds the drop; None where only all examples show it.

    Beyond the source models only samples hold their error rates, so where models better than
    any before are expected only they are taken.
    """
    methods = {spec.label: spec.method for spec in plan.specs}
    fit = [gate for gate in gates if gate.gate.size is not None]
    if plan.expect == "better":
        fit = [gate for gate in fit if methods[gate.label] in LEARNS_NOTHING]
    return min(fit, key=lambda gate: gate.gate.size or 0, default=None)
