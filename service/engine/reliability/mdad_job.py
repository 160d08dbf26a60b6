"""The reliability experiment: cut into parts, run part by part, assembled into one result.

`parts` cuts a plan's trials by estimated cost; `run_part` runs some of them on any
machine; `assemble` reads the estimates of all. No number depends on the cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.engine.data.matrix import Matrix
from service.engine.experiment.estimates import Estimates
from service.engine.experiment.trials import Check, entries, run_trials
from service.engine.planning.plan import Plan
from service.engine.reliability.result import assemble_result

__all__ = ["assemble", "parts", "run_part", "seconds"]

PART_SECONDS = 2.0
"""Work of a part: long beside claiming it and reading the matrix, short beside the whole."""

FIT_SECONDS, SECONDS_A_SCORE, SECONDS_A_PAIR = 0.05, 1.1e-6, 8e-8
"""Cost of fitting the slowest methods, by scores read and by pairs of examples; measured on one core."""


def parts(plan: Plan) -> list[dict[str, Any]]:
    """JSON specs of the parts, by trials; one part without trials where all is exact.

    Returns
    -------
    list of dict
        [{"trials": [first, last]}, …], last excluded; at least one.
    """
    if not plan.simulated:
        return [{"trials": [0, 0]}]
    each = max(1, int(PART_SECONDS / _trial_seconds(plan)))
    starts = range(0, plan.trials, each)
    return [{"trials": [start, min(start + each, plan.trials)]} for start in starts]


def seconds(plan: Plan) -> float:
    """Estimated time of the whole plan on one core."""
    return plan.trials * _trial_seconds(plan) if plan.simulated else 0.0


def _trial_seconds(plan: Plan) -> float:
    """Estimated time of one trial on one core."""
    n = plan.outline.n_examples - plan.heldout
    seconds = 1e-4 + 1e-9 * plan.models.targets * plan.outline.n_examples
    for _, sources in {(entry.spec.fit_key, entry.sources) for entry in entries(plan)}:
        seconds += 2e-5 * len(plan.sizes)
        if sources is not None:
            seconds += FIT_SECONDS + SECONDS_A_SCORE * sources * n + SECONDS_A_PAIR * n * n
    return seconds * (2 if plan.by_subtask else 1)


def run_part(matrix: Matrix, plan: Plan, spec: Mapping[str, Any], check: Check) -> bytes:
    """Run the trials of one part.

    Parameters
    ----------
    matrix : Matrix
        Complete.
    plan : Plan
    spec : mapping
        One of `parts(plan)`.
    check : callable
        Called with the fraction done at least once a fit; may raise Stopped.

    Returns
    -------
    bytes
        NPZ without pickled objects, for `assemble`.
    """
    first, last = spec["trials"]
    return run_trials(plan, matrix, first, last, check).to_bytes()


def assemble(matrix: Matrix, plan: Plan, blobs: list[bytes], check: Check) -> dict[str, Any]:
    """The result from the parts' bytes, in the order of `parts(plan)`: plain, finite JSON."""
    return assemble_result(matrix, plan, Estimates.joined([Estimates.from_bytes(b) for b in blobs]), check)
