"""The reliability experiment: cut into parts, run part by part, assembled into one result.

`parts` cuts a plan's trials by estimated cost, in two stages where the sizes of the second depend
on what the first finds; `run_part` runs some of them on any machine; `assemble` reads the estimates
of all. No number depends on the cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from service.engine.data.matrix import Matrix
from service.engine.experiment.trials import Check, entries, run_trials
from service.engine.planning.plan import Plan
from service.engine.reliability.result import assemble_result
from service.engine.reliability.stages import (
    Trials,
    all_trials,
    first_stage_plan,
    grouped,
    second_stage_plan,
)

__all__ = ["assemble", "parts", "run_all", "run_part", "seconds"]

PART_SECONDS = 2.0
"""Work of a part: long beside claiming it and reading the matrix, short beside the whole."""

FIT_SECONDS, SECONDS_A_SCORE, SECONDS_A_PAIR = 0.05, 1.1e-6, 8e-8
"""Cost of fitting the slowest methods, by scores read and by pairs of examples; measured on one core."""

Piece = tuple[Mapping[str, Any], bytes]
"""A part's spec and what it computed."""


def parts(plan: Plan) -> list[dict[str, Any]]:
    """JSON specs of the parts, by trials; one part without trials where all is exact.

    Returns
    -------
    list of dict
        [{"stage": 1, "heldout": 0, "trials": [first, last]}, …], last excluded; at least one. Those
        of stage 2 need the results of all of stage 1.
    """
    found = []
    for trials in all_trials(plan):
        each = max(1, int(PART_SECONDS / _trial_seconds(plan, trials.heldout)))
        starts = range(trials.first, max(trials.last, trials.first + 1), each)
        found += [replace(trials, first=at, last=min(at + each, trials.last)).as_spec() for at in starts]
    return found


def seconds(plan: Plan) -> float:
    """Estimated time of the whole plan on one core."""
    return sum((t.last - t.first) * _trial_seconds(plan, t.heldout) for t in all_trials(plan))


def _trial_seconds(plan: Plan, heldout: int) -> float:
    """Estimated time of one trial on one core."""
    n = plan.outline.n_examples - heldout
    seconds = 1e-4 + 1e-9 * plan.models.targets * plan.outline.n_examples
    for _, sources in {(entry.spec.fit_key, entry.sources) for entry in entries(plan)}:
        seconds += 2e-5 * len(plan.sizes)
        if sources is not None:
            seconds += FIT_SECONDS + SECONDS_A_SCORE * sources * n + SECONDS_A_PAIR * n * n
    return seconds * (2 if plan.by_subtask else 1)


def run_part(
    matrix: Matrix, plan: Plan, spec: Mapping[str, Any], earlier: Sequence[Piece], check: Check
) -> bytes:
    """Run the trials of one part.

    Parameters
    ----------
    matrix : Matrix
        Complete.
    plan : Plan
    spec : mapping
        One of `parts(plan)`.
    earlier : sequence of (mapping, bytes)
        Specs and results of all parts of earlier stages.
    check : callable
        Called with the fraction done at least once a fit; may raise Stopped.

    Returns
    -------
    bytes
        NPZ without pickled objects, for `assemble`.
    """
    trials = Trials.of(_with_stage(plan, spec))
    if trials.stage == 1:
        of_part = first_stage_plan(plan, trials.heldout, trials.setting)
    else:
        of_part = second_stage_plan(matrix, plan, grouped(earlier), trials.setting)
    return run_trials(of_part, matrix, trials.first, trials.last, check).to_bytes()


def run_all(matrix: Matrix, plan: Plan, check: Check) -> list[Piece]:
    """All parts one after the other, for `assemble`."""
    pieces: list[Piece] = []
    for part in parts(plan):
        earlier = [piece for piece in pieces if piece[0]["stage"] < part["stage"]]
        pieces.append((part, run_part(matrix, plan, part, earlier, check)))
    return pieces


def assemble(matrix: Matrix, plan: Plan, pieces: Sequence[Piece], check: Check) -> dict[str, Any]:
    """The result from what all parts computed, in the order of `parts(plan)`: plain, finite JSON."""
    pieces = [(_with_stage(plan, spec), piece) for spec, piece in pieces]
    return assemble_result(matrix, plan, grouped(pieces), check)


def _with_stage(plan: Plan, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A part's spec as it is written now: release 0.1, which queued some, knew one stage."""
    return {"stage": 1, "heldout": plan.heldout, **spec}
