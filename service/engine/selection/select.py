"""One method, one size, all examples: the micro-benchmark itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from service.engine.comparison.calibration import cross_validate
from service.engine.errors import Unsuitable
from service.engine.matrix import Matrix
from service.engine.plan import SelectPlan
from service.engine.selection.base import Source
from service.engine.selection.registry import LEARNS_NOTHING, METHODS
from service.engine.splits import generator, positions
from service.engine.trials import jaccard

LEAST_SOURCES = 10

Check = Callable[[float], None]


def run(matrix: Matrix, plan: SelectPlan, check: Check) -> dict[str, Any]:
    """Choose the examples of a micro-benchmark.

    Parameters
    ----------
    matrix : Matrix
        Complete; all its examples can be chosen, all its models are sources unless
        the plan names some.
    plan : SelectPlan
    check : callable
        Called with the fraction done; may raise Stopped.

    Returns
    -------
    dict
        Plain JSON: method, estimator, options, scored_by, size, seed, missing, source_models,
        examples [{id, weight, subtask}] in ascending order of id, stability: the
        Jaccard index of the chosen set with that of a refit under another seed, and
        calibration: the errors of its estimates (`comparison.calibration`), cross-validated
        over the source models; null for a sample, which needs none, or below ten sources.

    Raises
    ------
    Unsuitable
        The data cannot carry the method.
    """
    rows = np.arange(len(matrix.models)) if plan.sources is None else positions(matrix.models, plan.sources)
    source = Source(
        scores=matrix.scores[rows],
        strata=matrix.strata,
        confidences=None if matrix.confidences is None else matrix.confidences[rows],
        embeddings=matrix.embeddings,
    )
    subsets = []
    for at, purpose in enumerate(((), ("refit",))):
        check(at / 2)
        stream = generator(plan.seed, 0, "select", plan.spec.fit_key, *purpose)
        subsets.append(plan.spec.create().fit(source, stream).pick(plan.size))
    chosen = subsets[0]
    return {
        **{
            key: plan.settings[key]
            for key in ("method", "estimator", "options", "scored_by", "size", "seed", "missing")
        },
        "source_models": [matrix.models[row] for row in rows],
        "examples": [
            {"id": matrix.examples[j], "weight": weight, "subtask": _subtask(matrix, j)}
            for j, weight in zip(chosen.indices.tolist(), chosen.weights.tolist(), strict=True)
        ],
        "stability": jaccard(subsets),
        "calibration": _calibration(source, plan),
    }


def _calibration(source: Source, plan: SelectPlan) -> dict[str, Any] | None:
    spec = plan.spec
    own = spec.estimator in METHODS[spec.method].estimators
    if spec.method in LEARNS_NOTHING or not own or source.n_models < LEAST_SOURCES:
        return None
    stream = generator(plan.seed, 0, "select", spec.fit_key, "calibration")
    try:
        found = asdict(cross_validate(source, spec.create(), plan.size, spec.estimator, stream))
    except Unsuitable:
        return None
    # Infinite when no pair has an error; JSON has no word for it.
    return found | {"effective_size": found["effective_size"] if found["effective_size"] < np.inf else None}


def _subtask(matrix: Matrix, example: int) -> str | None:
    return matrix.subtasks[matrix.strata[example]] if matrix.subtasks else None
