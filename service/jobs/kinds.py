"""What a job can be: how its request becomes a plan, parts and a result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import Connection

from service.engine.comparison.attempts_budget import AttemptVariance, plan_budget
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.data.scored_matrix import Denominators
from service.engine.microbenchmark import select
from service.engine.planning.plan import SelectPlan, mdad_plan, select_plan
from service.engine.reliability import mdad_job
from service.jobs.canonical_json import canonical_json
from service.store import selections
from service.store.records import Claim

# Part of every request's hash: raise it when the same request would give other numbers.
ENGINE_VERSION = "10"

_SELECTIONS = UUID("5f9c7a52-6a0e-5d0b-9d52-3f1f3d3f7a11")

Check = Callable[[float], None]
Piece = tuple[Mapping[str, Any], bytes]
Keep = Callable[[Connection], str]
"""Stores the selection that a job made; its id."""


def _bounded(plan: object) -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of job.

    Attributes
    ----------
    plan : (settings, outline) → plan
        Refuses what does not fit the data.
    parts : plan → JSON specs
        Pieces of the work; those of one `stage` (1 if it names none) are independent.
    run : (matrix, plan, spec, earlier, check) → bytes
        One piece, from the specs and results of all parts of earlier stages.
    assemble : (matrix, plan, pieces, check) → JSON
        The result, from the specs and results of all parts in order.
    seconds : plan → float
        Estimated time of all pieces on one core; 0 where the limits on matrices bound it well.
    """

    plan: Callable[[Mapping[str, Any], Outline], Any]
    parts: Callable[[Any], list[dict[str, Any]]]
    run: Callable[[Matrix, Any, Mapping[str, Any], Sequence[Piece], Check], bytes]
    assemble: Callable[[Matrix, Any, Sequence[Piece], Check], dict[str, Any]]
    seconds: Callable[[Any], float] = _bounded


def _select_parts(plan: object) -> list[dict[str, Any]]:
    return [{}]


def _select_run(
    matrix: Matrix, plan: SelectPlan, spec: Mapping[str, Any], earlier: Sequence[Piece], check: Check
) -> bytes:
    return canonical_json(select.run(matrix, plan, check))


def _select_assemble(
    matrix: Matrix, plan: SelectPlan, pieces: Sequence[Piece], check: Check
) -> dict[str, Any]:
    chosen: dict[str, Any] = json.loads(pieces[0][1])
    return chosen


KINDS: dict[str, Kind] = {
    "mdad": Kind(mdad_plan, mdad_job.parts, mdad_job.run_part, mdad_job.assemble, mdad_job.seconds),
    "select": Kind(select_plan, _select_parts, _select_run, _select_assemble),
}


def run(matrix: Matrix, part: Claim, earlier: Sequence[Piece], check: Check) -> bytes:
    """Compute one part, from what parts of earlier stages computed; the matrix is complete."""
    kind = KINDS[part.kind]
    plan = kind.plan(part.settings, Outline.of(matrix))
    return kind.run(matrix, plan, part.spec or {}, earlier, check)


def assemble(
    matrix: Matrix, part: Claim, pieces: Sequence[Piece], check: Check, scored: Denominators | None = None
) -> tuple[bytes, Keep | None]:
    """The job's result as stored, and what to keep beside it in the same transaction."""
    kind = KINDS[part.kind]
    plan = kind.plan(part.settings, Outline.of(matrix))
    body = kind.assemble(matrix, plan, pieces, check)
    if "budget" in part.settings:
        body["budget"] = _spent(part.settings, len(matrix.examples))
    if scored is not None:
        body["scoring"] = scored.as_json()
    identity = {"id": part.matrix_id, "revision": part.revision, "content_hash": part.content_hash}
    if part.kind != "select":
        return canonical_json(body | {"matrix": identity}), None
    # The same choice from the same data has the same hash, whatever their ids.
    content = hashlib.sha256(canonical_json([body, part.content_hash])).hexdigest()
    chosen = body | {
        "matrix": identity,
        "content_hash": content,
        "selection_id": selection_id(part.request_hash),
    }
    return canonical_json(chosen), lambda conn: _keep_selection(conn, part, chosen)


def _spent(settings: Mapping[str, Any], n_examples: int) -> dict[str, Any]:
    """How to spend the budget of a job, whose settings have the variances."""
    budget = settings["budget"]
    variance = AttemptVariance(budget["between_variance"], budget["within_variance"])
    probability = settings["probability"]
    return plan_budget(budget["runs"], n_examples, variance, probability=probability, margin=0.0).as_json()


def selection_id(request_hash: str) -> str:
    """Derived from the request, so that the same request names the same selection for ever."""
    return str(uuid5(_SELECTIONS, request_hash))


def _keep_selection(conn: Connection, part: Claim, body: Mapping[str, Any]) -> str:
    selections.add(
        conn,
        selection_id=body["selection_id"],
        matrix_id=part.matrix_id,
        revision=part.revision,
        method=part.settings["method"],
        size=body["size"],
        body=body,
        content_hash=body["content_hash"],
    )
    return str(body["selection_id"])
