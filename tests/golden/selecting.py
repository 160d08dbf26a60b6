"""Every selection method, with its estimators and options."""

from __future__ import annotations

from typing import Any

from tests.golden.caller import Caller, Group, Named
from tests.golden.matrices import TABLES

Ask = dict[str, Any]
COSTS = {example: 1.0 + at % 7 for at, example in enumerate(TABLES["subtasks"]["examples"])}

METHODS: dict[str, dict[str, Ask]] = {
    "random": {
        "binary": {},
        "binary, seed 7": {"seed": 7},
        "graded, blp": {"estimator": "blp"},
        "gaps, drop examples": {"missing": "drop_examples"},
        "gaps, drop models, blp": {"missing": "drop_models", "estimator": "blp"},
        "gaps, zero": {"missing": "zero"},
        "confident, by confidences": {"scored_by": "confidences"},
    },
    "stratified": {
        "binary": {},
        "subtasks": {},
        "subtasks, equal": {"options": {"allocation": "equal"}},
        "subtasks, blp": {"estimator": "blp"},
        "subtasks, fewer than subtasks": {"size": 2},
    },
    "confidence_strata": {
        "confident": {"options": {"strata": 4}},
        "confident, by scores": {"scored_by": "scores"},
        "graded": {},
        "binary, blp": {"estimator": "blp"},
    },
    "anchor_points": {
        "wide": {},
        "wide, blp": {"estimator": "blp"},
        "graded": {},
        "confident": {},
    },
    "tinybenchmarks": {
        "repeated": {"options": {"dimensions": 2}},
        "repeated, one dimension": {"options": {"dimensions": 1}, "size": 8},
        "repeated, pirt": {"options": {"dimensions": 2}, "estimator": "pirt"},
        "repeated, gpirt": {"options": {"dimensions": 2}, "estimator": "gpirt"},
        "repeated, blp": {"options": {"dimensions": 2}, "estimator": "blp"},
    },
    "diversity": {
        "binary": {},
        "graded": {"options": {"components": 2}},
        "subtasks, blp": {"estimator": "blp"},
    },
    "optimal_design": {
        "binary": {},
        "binary, from eight models": {"source_models": TABLES["binary"]["models"][3:11]},
        "graded": {},
        "confident": {},
        "gaps, drop models": {"missing": "drop_models"},
        "subtasks": {},
        "subtasks, conditions": {
            "options": {"include": ["e70", "e03"], "exclude": ["e11", "e12", "e40"], "per_subtask": 4}
        },
        "subtasks, budget": {"size": None, "options": {"costs": COSTS, "budget": 40}},
        "subtasks, costs": {"options": {"costs": COSTS}},
    },
}


def by(method: str) -> Group:
    """The questions about one method."""

    def asked(caller: Caller) -> Named:
        for name, more in METHODS[method].items():
            matrix = caller.matrix(name.partition(",")[0])
            yield name, caller.result("/select", {"matrix_id": matrix, "method": method, "size": 12} | more)

    return asked


def refusals(caller: Caller) -> Named:
    """What cannot be chosen."""
    for name, matrix, more in (
        ("gaps", "gaps", {"method": "random"}),
        ("unknown method", "binary", {"method": "best"}),
        ("unknown estimator", "binary", {"method": "diversity", "estimator": "pirt"}),
        ("no confidences", "binary", {"method": "random", "scored_by": "confidences"}),
        ("too many", "binary", {"method": "random", "size": 61}),
        ("too few subtasks left", "subtasks", {"method": "optimal_design", "options": {"per_subtask": 5}}),
    ):
        yield name, caller.result("/select", {"matrix_id": caller.matrix(matrix), "size": 12} | more)
    one = {"method": "anchor_points", "source_models": ["m04"], "size": 12}
    answer = caller.job("/select", {"matrix_id": caller.matrix("binary")} | one)
    job = caller.get(answer.json()["links"]["self"]) if answer.status_code == 202 else None
    yield "one source model", {"status": answer.status_code, "answer": job and job["answer"]["error"]}
