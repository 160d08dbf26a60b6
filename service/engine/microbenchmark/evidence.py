"""How far off later estimates from a selection are, measured once when it is made."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.calibration import Estimate, cross_validate
from service.engine.comparison.planned_gate import LEAST_FOR_GATE, Choice, planned_gate
from service.engine.data.contracts import Fitted, Source, Subset
from service.engine.data.errors import Unsuitable
from service.engine.experiment.splits import generator
from service.engine.planning.plan import SelectPlan
from service.engine.prediction.ability_model import fit_ability_model
from service.engine.prediction.ability_predictor import AbilityPredictor
from service.engine.prediction.ability_prior import Expect
from service.engine.reliability.gates import DROP, RULE, rule_fields
from service.engine.selection.registry import LEARNS_NOTHING, METHODS

Floats = NDArray[np.float64]
LEAST_SOURCES = 10
IRT = ("pirt", "gpirt")


def calibration(
    source: Source, plan: SelectPlan, chosen: Subset, scored_by: str, expect: Expect
) -> dict[str, Any] | None:
    """Errors of estimates as they will be served, cross-validated over the source models.

    By the ability-conditional predictor from scores, by the selection's weights from
    confidences. None for a sample, which needs none, and below ten source models.
    """
    spec = plan.spec
    own = spec.estimator in METHODS[spec.method].estimators
    if (spec.method in LEARNS_NOTHING and own) or source.n_models < LEAST_SOURCES:
        return None
    # Not by the options: the same examples chosen in two ways have the same errors.
    stream = generator(plan.seed, 0, "select", spec.method, "calibration")
    by = _weights(linear(spec.estimator)) if scored_by == "confidences" else _ability(expect)
    size = len(chosen.indices)
    try:
        found = asdict(cross_validate(source, spec.create(), size, by, stream, scored_by=scored_by))
    except Unsuitable:
        return None
    # Infinite when no pair has an error; JSON has no word for it.
    return found | {"effective_size": found["effective_size"] if found["effective_size"] < np.inf else None}


def gate_on(source: Source, plan: SelectPlan, chosen: Subset) -> dict[str, Any] | None:
    """What the default gate of `/compare` finds on these examples; None where nothing measures it.

    Some of the source models play the candidate, and are no sources then; the examples stay those
    chosen. None for answers that are no scores, all examples, or too few models.
    """
    size = len(chosen.indices)
    if plan.spec.scored_by != "scores" or size == source.n_examples or source.n_models < LEAST_FOR_GATE:
        return None
    choice = Choice(
        lambda part, rng: lambda size: chosen, plan.spec.method, plan.spec.options, False, plan.expect
    )
    planned = planned_gate(
        DROP, [size], RULE, total=source.n_examples, disagreement=1.0, source=source, choice=choice
    )
    (at,) = planned.by_size
    return rule_fields() | {"pairs": planned.pairs} | at.as_json()


def linear(estimator: str) -> str:
    """The estimator that a selection can carry with it, in place of one of item response theory."""
    return "weighted" if estimator in IRT else estimator


def _weights(estimator: str) -> Estimate:
    def estimate(source: Source, fitted: Fitted, subset: Subset, answers: Floats) -> Floats:
        return fitted.estimate(subset, answers, estimator)

    return estimate


def _ability(expect: Expect) -> Estimate:
    def estimate(source: Source, fitted: Fitted, subset: Subset, answers: Floats) -> Floats:
        return AbilityPredictor(fit_ability_model(source), subset.indices, expect).predict(answers).score

    return estimate
