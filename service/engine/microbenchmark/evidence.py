"""What later estimates from a selection rest on, worked out once when it is made."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from service.engine.comparison.calibration import cross_validate
from service.engine.data.contracts import Fitted, Source, Subset
from service.engine.data.errors import Unsuitable
from service.engine.experiment.splits import generator
from service.engine.planning.methods import BLP
from service.engine.planning.plan import SelectPlan
from service.engine.prediction import blp
from service.engine.selection.optimal_design import FittedDesign
from service.engine.selection.registry import LEARNS_NOTHING, METHODS

LEAST_SOURCES = 10
IRT = ("pirt", "gpirt")


def calibration(source: Source, plan: SelectPlan, chosen: Subset, scored_by: str) -> dict[str, Any] | None:
    """Errors of estimates from scores or confidences, cross-validated over the source models.

    Those of the selection's weights where its estimator takes more than weights, which it
    cannot carry with it. None for a sample, which needs none, for an estimator that is not
    the method's own, and below ten source models.
    """
    spec = plan.spec
    own = spec.estimator in METHODS[spec.method].estimators
    if spec.method in LEARNS_NOTHING or not own or source.n_models < LEAST_SOURCES:
        return None
    # Not by the options: the same examples chosen in two ways have the same errors.
    stream = generator(plan.seed, 0, "select", spec.method, "calibration")
    by = linear(spec.estimator)
    size = len(chosen.indices)
    try:
        found = asdict(cross_validate(source, spec.create(), size, by, stream, scored_by=scored_by))
    except Unsuitable:
        return None
    # Infinite when no pair has an error; JSON has no word for it.
    return found | {"effective_size": found["effective_size"] if found["effective_size"] < np.inf else None}


def linear(estimator: str) -> str:
    """The estimator that a selection can carry with it, in place of one of item response theory."""
    return "weighted" if estimator in IRT else estimator


def predictor(fitted: Fitted, source: Source, plan: SelectPlan, chosen: Subset) -> dict[str, Any] | None:
    """The best linear predictor from answers on the chosen examples; None for other estimators."""
    if plan.spec.estimator != BLP:
        return None
    if isinstance(fitted, FittedDesign):
        by = fitted.predictor(chosen)
    else:
        by = blp.fit(source).predictor(chosen.indices)
    return {
        "coefficients": by.coefficients.tolist(),
        "intercept": float(by.intercept),
        "posterior": float(by.deviation),
    }
