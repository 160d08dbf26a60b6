"""Estimates of all trials → the result of an experiment, as plain JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from service.engine.data.matrix import Matrix
from service.engine.data.pairs import choose_pairs
from service.engine.experiment import simulated
from service.engine.experiment.exact import sampling_note
from service.engine.experiment.splits import generator
from service.engine.experiment.trials import units
from service.engine.planning.plan import PULL_REQUEST_CHECK, Plan
from service.engine.reliability.candidates import key_of
from service.engine.reliability.caveats import caveats
from service.engine.reliability.contrasts import differences
from service.engine.reliability.evidence import RANDOM, Evidence, gather
from service.engine.reliability.gates import MethodGate, judge_gates
from service.engine.reliability.own_pairs import close_pairs
from service.engine.reliability.recommendation import (
    LISTED_PAIRS,
    Recommendation,
    alternatives,
    at_size,
    by_target,
    recommend,
)
from service.engine.reliability.stages import Groups
from service.engine.reliability.subtasks import group_report
from service.engine.reliability.target_settings import judge_settings, setting_warnings
from service.engine.reliability.wording import sentence

Check = Callable[[float], None]


def assemble_result(matrix: Matrix, plan: Plan, groups: Groups, check: Check) -> dict[str, Any]:
    """The benchmark's result; with `by_subtask` each subtask's own in `subtasks`."""
    parts = units(plan, matrix)
    results: list[dict[str, Any]] = []
    judged: list[dict[str, Any]] = []
    for unit, subtask in enumerate(parts):
        check(unit / len(parts))
        evidence = gather(matrix, plan, groups, subtask, check)
        results.append(_unit_result(evidence, groups, check))
        judged = judge_settings(evidence) if subtask is None else judged
    answer: dict[str, Any] = {"settings": plan.settings, **results[0]}
    if plan.by_subtask:
        names = zip(matrix.subtasks, results[1:], strict=True)
        answer["subtasks"] = [{"subtask": name, **result} for name, result in names]
    answer["target_settings"] = judged
    answer["warnings"] = setting_warnings(matrix, judged)
    plain: dict[str, Any] = _plain(answer)
    return plain


def _unit_result(evidence: Evidence, groups: Groups, check: Check) -> dict[str, Any]:
    """Everything about the whole benchmark or one subtask of it."""
    plan = evidence.plan
    check_first = plan.purpose == PULL_REQUEST_CHECK
    gates = _gates(evidence, None, check) if check_first else []
    recommendation = recommend(evidence, gates)
    gates = gates or _gates(evidence, recommendation, check)
    sizes = sorted({size for line in evidence.lines for size in line.cells})
    answer: dict[str, Any] = {
        "data": _data(evidence),
        "methods": _methods(evidence),
        "exact_random": [
            cell.as_json(size) | evidence.random.notes[size]
            for size, cell in sorted(evidence.random.cells.items())
        ],
        "differences": differences([x for x in evidence.lines if x.same_as is None], sizes, plan.truth),
        "by_target": by_target(evidence),
        "gates": [gate.as_json() for gate in gates],
        "recommendation": _recommendation(evidence, recommendation, gates),
    }
    if plan.group:
        answer["group"] = group_report(plan, evidence.matrix, groups, evidence.random, check)
    return answer


def _gates(evidence: Evidence, found: Recommendation | None, check: Check) -> list[MethodGate]:
    """The default gate on random examples and on those recommended; on those of every method for a check.

    None where the paper's protocol is asked for, or models are all the same.
    """
    plan = evidence.plan
    if plan.purpose is None or not np.isfinite(evidence.resolution):
        return []
    lines = [evidence.random, *(line for line in evidence.lines if line.same_as is None)]
    if found is not None:
        lines = [line for line in lines if key_of(line) in (RANDOM, (found.method, found.source_models))]
    known = {key_of(line): (line.spec, line.sources) for line in lines if line.spec.scored_by == "scores"}
    sizes = [found.size] if found is not None and found.size else []
    return judge_gates(evidence.matrix, plan, known.values(), sizes, check)


def _recommendation(evidence: Evidence, found: Recommendation, gates: Sequence[MethodGate]) -> dict[str, Any]:
    matrix = evidence.matrix
    threshold = found.target_mdad if found.mdad is None else found.mdad
    own = close_pairs(matrix, np.arange(len(matrix.models)), threshold, most=LISTED_PAIRS)
    return found.as_json() | {
        "own_pairs": {"threshold": threshold, **asdict(own)},
        "alternatives": alternatives(evidence),
        "caveats": caveats(evidence, found),
        "sentence": sentence(evidence, found, gates),
    }


def _methods(evidence: Evidence) -> list[dict[str, Any]]:
    """The lines, each with its MDAD for new questions where that is known."""
    known = {} if evidence.plan.purpose is None or evidence.few else evidence.curves("new_questions")
    answer = []
    for line in evidence.lines:
        entry = line.as_json()
        curve = known.get((line.same_as or line.spec.label, line.sources))
        if curve is not None:
            entry["new_questions"] = [
                {"size": size, **_brief(at_size(curve, size))} for size in curve.sizes.tolist()
            ]
        answer.append(entry)
    return answer


def _brief(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry.get(key) for key in ("mdad", "interval", "seed_interval")}


def _data(evidence: Evidence) -> dict[str, Any]:
    plan, matrix = evidence.plan, evidence.matrix
    counts = plan.models.sources
    answer: dict[str, Any] = {
        "models": len(matrix.models),
        "examples": len(matrix.examples),
        "source_models": list(counts) if len(counts) > 1 else max(counts, default=0),
        "target_models": plan.models.targets,
        "selection_examples": len(matrix.examples) - evidence.heldout,
        "heldout_examples": evidence.heldout,
        "constant_examples": int(matrix.constant.sum()),
        "binary": matrix.binary,
        "estimand": "micro",
    }
    if plan.simulated:
        most, rng = simulated.MOST_PAIRS, generator(plan.seed, 0, "pairs")
        pairs = choose_pairs(plan.models.targets, plan.trials, most, rng)
        answer |= sampling_note(pairs)
    return answer


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON
    """JSON types only; floats to ten decimals, so that the last bit of a machine does not show."""
    if isinstance(value, float | np.floating):
        return round(float(value), 10) + 0.0 if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.integer):
        return int(value)
    return value
