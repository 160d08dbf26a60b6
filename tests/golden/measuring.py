"""The reliability experiment: methods, options, exact results, partial results and tables."""

from __future__ import annotations

from typing import Any

from tests.golden.caller import Caller, Group, Named
from tests.golden.matrices import TABLES

Ask = dict[str, Any]
FEW = {"sizes": [6, 15], "trials": 8}
TINY = {"method": "tinybenchmarks", "options": {"dimensions": 2}}

ASKS: dict[str, dict[str, Ask]] = {
    "binary": {
        "random and designed": FEW | {"methods": ["random", "optimal_design"]},
        "learning curve": FEW
        | {"methods": ["optimal_design"], "sizes": [12], "source_models": [4, 8], "target_models": 7},
        "a method left out": FEW
        | {"methods": ["anchor_points"], "sizes": [9], "source_models": 5, "target_models": 6},
        "too many models": FEW | {"source_models": 19},
    },
    "repeated": {
        "as the paper": FEW
        | {"methods": [TINY, "random"], "sizes": [12], "holdout": 0, "paper_compat": True},
    },
    "irt": {
        "abilities": FEW
        | {
            "methods": [TINY | {"estimator": "gpirt"}],
            "sizes": [12],
            "holdout": 0,
            "target_models": 7,
        },
    },
    "exact": {
        "random on everyone": {
            "methods": ["random"],
            "sizes": [5, 30],
            "target_models": "all",
            "source_models": 0,
            "holdout": 0,
        },
    },
    "graded": {
        "two methods": FEW
        | {
            "methods": [{"method": "random", "estimator": "blp"}, "optimal_design"],
            "sizes": [10],
            "holdout": 0.3,
            "target_models": 7,
        },
        "other probability": FEW
        | {
            "methods": ["diversity"],
            "sizes": [8],
            "probability": 0.9,
            "target_mdad": 0.15,
            "seed": 3,
            "target_models": 7,
        },
    },
    "subtasks": {
        "by subtask": FEW | {"methods": ["stratified"], "sizes": [6], "by_subtask": True, "target_models": 6},
        "group": FEW
        | {
            "methods": ["stratified", "optimal_design"],
            "sizes": [9],
            "group": ["m08", "m09", "m10", "m11", "m12"],
            "max_size": 20,
        },
        "named models": FEW
        | {
            "methods": ["confidence_strata", "optimal_design"],
            "sizes": [12],
            "source_models": TABLES["subtasks"]["models"][::2],
            "target_models": TABLES["subtasks"]["models"][1::2],
            "truth": "same_items",
        },
    },
    "gaps": {
        "refused": FEW,
        "drop examples": FEW
        | {"methods": ["random"], "sizes": [8], "missing": "drop_examples", "target_models": 6},
        "drop models": FEW
        | {"methods": ["optimal_design"], "sizes": [8], "missing": "drop_models", "target_models": 6},
    },
    "confident": {
        "by confidences": FEW
        | {
            "methods": ["anchor_points", "confidence_strata"],
            "sizes": [10],
            "trials": 5,
            "source_models": 12,
        },
    },
}
MATRIX = {"exact": "binary", "irt": "repeated"}


def of(name: str) -> Group:
    """The questions about one matrix."""

    def asked(caller: Caller) -> Named:
        for title, ask in ASKS[name].items():
            yield title, caller.result("/mdad", {"matrix_id": caller.matrix(MATRIX.get(name, name)), **ask})

    return asked


def partial(caller: Caller) -> Named:
    """What a running job shows, after none and the first of its parts."""
    ask = {"methods": ["random", "optimal_design"], "sizes": [6, 15], "trials": 60, "seed": 5}
    for name, parts in (("nothing yet", 0), ("one part", 1)):
        job = caller.job("/mdad", {"matrix_id": caller.matrix("binary"), **ask}, parts=parts).json()
        yield name, caller.get(f"/jobs/{job['id']}/partial")


def tables(caller: Caller) -> Named:
    """A report's tables."""
    ask = FEW | {"methods": ["random", "optimal_design"], "sizes": [12], "trials": 6}
    job = caller.job("/mdad", {"matrix_id": caller.matrix("binary"), **ask}).json()
    for name in ("mdad", "curves", "models", "pairs", "differences"):
        yield name, caller.get(f"/jobs/{job['id']}/report/tables/{name}.csv")
