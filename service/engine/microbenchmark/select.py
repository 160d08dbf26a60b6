"""One method, one size, all examples: the micro-benchmark itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from service.engine.data.contracts import Budgeted, Fitted, Source, Subset
from service.engine.data.matrix import Matrix
from service.engine.experiment.splits import generator, positions
from service.engine.experiment.trials import jaccard
from service.engine.microbenchmark.evidence import calibration, gate_on
from service.engine.planning.plan import SelectPlan

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
        Plain JSON: method, estimator, options, scored_by, size, seed, missing, expect,
        expect_reason, guarantee, source_models, examples [{id, weight, subtask, inclusion}] in
        ascending order of id, stability: the Jaccard index of the chosen set with that of a
        refit under another seed, and how far off estimates from it are: calibration and,
        where the method takes confidences, calibration_of_scores (see `evidence`), and
        what the default gate finds on it.

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
    fits, subsets = [], []
    for at, purpose in enumerate(((), ("refit",))):
        check(at / 2)
        stream = generator(plan.seed, 0, "select", plan.spec.fit_key, *purpose)
        fits.append(plan.spec.create().fit(source, stream))
        subsets.append(_choice(fits[-1], plan.size))
    chosen = subsets[0]
    return {
        **{
            key: plan.settings[key]
            for key in (
                "method",
                "estimator",
                "options",
                "scored_by",
                "seed",
                "missing",
                "expect",
                "expect_reason",
                "guarantee",
            )
        },
        "size": len(chosen.indices),
        "source_models": [matrix.models[row] for row in rows],
        "examples": [
            {"id": matrix.examples[j], "weight": weight, "subtask": _subtask(matrix, j), "inclusion": chance}
            for j, weight, chance in zip(
                chosen.indices.tolist(), chosen.weights.tolist(), _inclusion(chosen), strict=True
            )
        ],
        "stability": jaccard(subsets),
        "predictor": None,
        "calibration": calibration(source, plan, chosen, plan.spec.scored_by, plan.expect),
        "calibration_of_scores": _of_scores(source, plan, chosen),
        "gate": gate_on(source, plan, chosen),
    }


def _choice(fitted: Fitted, size: int | None) -> Subset:
    if size is None and isinstance(fitted, Budgeted):
        return fitted.spend()
    return fitted.pick(size or 0)


def _of_scores(source: Source, plan: SelectPlan, chosen: Subset) -> dict[str, Any] | None:
    """Errors of estimates from 0/1 answers, where the method takes confidences."""
    if plan.spec.scored_by != "confidences":
        return None
    return calibration(source, plan, chosen, "scores", plan.expect)


def _inclusion(chosen: Subset) -> list[float | None]:
    if chosen.inclusion is None:
        return [None] * len(chosen.indices)
    return [float(chance) for chance in chosen.inclusion]


def _subtask(matrix: Matrix, example: int) -> str | None:
    return matrix.subtasks[matrix.strata[example]] if matrix.subtasks else None
