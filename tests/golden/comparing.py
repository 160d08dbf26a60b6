"""Estimated scores, comparisons, drift and power."""

from __future__ import annotations

from typing import Any

import httpx

from tests.golden.caller import Caller, Named, kept
from tests.golden.matrices import TABLES, binary, table

EXAMPLES = TABLES["binary"]["examples"]
NEW = binary(seed=11)[[4, 9, 13]]
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "random": ("binary", {}),
    "random, blp": ("binary", {"estimator": "blp"}),
    "stratified": ("subtasks", {}),
    "anchor_points": ("wide", {}),
    "anchor_points, confidences": ("confident", {"scored_by": "confidences"}),
    "tinybenchmarks": ("repeated", {"options": {"dimensions": 2}}),
    "diversity": ("graded", {}),
    "optimal_design": ("binary", {}),
    "optimal_design, graded": ("graded", {}),
}


def _selected(caller: Caller) -> dict[str, str]:
    return {
        way: caller.selection(matrix, way.partition(",")[0], **more) for way, (matrix, more) in WAYS.items()
    }


def _rows(matrix: str, *models: int) -> dict[str, Any]:
    """The answers of a matrix's models, as if new ones had given them."""
    whole = TABLES[matrix]
    fields = [field for field in ("scores", "confidences") if field in whole]
    taken = {field: [whole[field][model] for model in models] for field in fields}
    return {"models": [f"new{model:02}" for model in models], "examples": whole["examples"]} | taken


def scores(caller: Caller) -> Named:
    """Full scores from answers on a selection."""
    for way, selection in _selected(caller).items():
        path = f"/selections/{selection}/scores"
        yield way, caller.post(path, _rows(WAYS[way][0], 5, 11), confidence="0.9")
    path = f"/selections/{caller.selection('binary', 'optimal_design')}/scores"
    chosen = [e["id"] for e in caller.api.get(path.removesuffix("/scores")).json()["examples"]]
    some = {"models": ["partly"], "examples": chosen[:10], "scores": [[1, 0, 1, 1, 0, 1, 0, 0, 1, 1]]}
    yield "answers missing", caller.post(path, some)
    yield "kept", caller.post(path, table(NEW) | {"models": ["x", "y", "m03"]}, keep="true")
    yield "list of those kept", caller.get(path)


def on_the_benchmark(caller: Caller) -> Named:
    """Comparisons on all examples of a matrix."""
    on = {"matrix_id": caller.matrix("binary")}
    runs = {name: [1, 1, 0] if at % 3 else [0, 0, 0] for at, name in enumerate(EXAMPLES)}
    clusters = {name: f"passage {at // 4}" for at, name in enumerate(EXAMPLES)}
    sent = {"name": "sent", "answers": dict(zip(EXAMPLES, NEW[1].tolist(), strict=True))}
    asks: dict[str, dict[str, Any]] = {
        "worse": {"baseline": "m17", "candidate": "m05", "margin": 0.01},
        "better": {"baseline": "m05", "candidate": "m17", "confidence": 0.9},
        "close": {"baseline": "m11", "candidate": "m12", "margin": 0.08, "power": 0.9},
        "the runs themselves": {"baseline": "m11", "candidate": "m09", "truth": "full_benchmark"},
        "itself": {"baseline": "m12", "candidate": "m12", "margin": 0.05},
        "several": {"baseline": "m10", "candidates": ["m02", "m11", "m18", sent], "margin": 0.03},
        "repeated runs in clusters": {
            "baseline": "m10",
            "candidate": {"answers": runs},
            "clusters": clusters,
        },
        "nothing in common": {"baseline": {"answers": {"e00": 1}}, "candidate": {"answers": {"e01": 1}}},
        "unknown": {"baseline": "m10", "candidate": "nobody"},
    }
    for name, ask in asks.items():
        yield name, caller.post("/compare", on | ask)
    graded = {"matrix_id": caller.matrix("graded"), "baseline": "m07"}
    yield "graded", caller.post("/compare", graded | {"candidate": "m09", "margin": 0.02})
    yield "graded, several", caller.post("/compare", graded | {"candidates": ["m06", "m12"]})
    gaps = {"matrix_id": caller.matrix("gaps"), "baseline": "m02", "candidate": "m05"}
    yield "gaps", caller.post("/compare", gaps)


def on_selections(caller: Caller) -> Named:
    """Comparisons on the examples of a selection."""
    for way, selection in _selected(caller).items():
        ask = {"selection_id": selection, "baseline": "m13", "candidate": "m04", "margin": 0.02}
        yield way, caller.post("/compare", ask)
    designed = {"selection_id": caller.selection("binary", "optimal_design"), "baseline": "m11"}
    whole = {"truth": "full_benchmark"}
    yield (
        "optimal_design, the runs themselves",
        caller.post("/compare", designed | whole | {"candidate": "m12"}),
    )
    yield "optimal_design, several", caller.post("/compare", designed | {"candidates": ["m03", "m15", "m12"]})
    sent = {"answers": dict(zip(EXAMPLES, NEW[2].tolist(), strict=True))}
    yield "optimal_design, sent", caller.post("/compare", designed | {"candidate": sent})


def drift(caller: Caller) -> Named:
    """A selection before and after models joined its matrix."""
    matrix = caller.upload(table(binary()))
    ask = {"matrix_id": matrix, "method": "optimal_design", "size": 15}
    answer = caller.job("/select", ask)
    selection = caller.api.get(answer.json()["links"]["result"]).json()["selection_id"]
    yield "before", caller.get(f"/selections/{selection}/drift")
    for at, row in enumerate(binary(seed=12)[4:11].tolist()):
        put = {"models": [f"new{at}"], "examples": EXAMPLES, "scores": [row]}
        answer = caller.api.put(f"/matrices/{matrix}/models/new{at}", json=put)
        if at in (1, 6):
            yield f"model {at} put", kept(answer)
            yield f"after {at + 1}", caller.get(f"/selections/{selection}/drift")
    joined = {"selection_id": selection, "baseline": "m15", "candidate": "new5"}
    yield "compared with one that joined", caller.post("/compare", joined)


def power(caller: Caller) -> Named:
    """Sizes needed, before anything is run."""
    gate = {"threshold": 0.7, "n": 198, "score": 0.74, "bad_score": 0.66, "runs": [0.71, 0.75, 0.69, 0.74]}
    ask = {"disagreement": 0.3, "difference": 0.03}
    yield "a disagreement", caller.post("/power", ask | {"sizes": [100, 1000]})
    yield "a margin", caller.post("/power", ask | {"margin": 0.02, "confidence": 0.9, "probability": 0.9})
    yield "a benchmark", caller.post("/power", ask | {"benchmark": 700, "sizes": [50, 700]})
    yield "a threshold", caller.post("/power", ask | {"sizes": [100], "threshold": gate})
    for matrix, more in (("binary", {}), ("graded", {}), ("gaps", {"missing": "drop_examples"})):
        of = {"matrix_id": caller.matrix(matrix), "difference": 0.1, "sizes": [10, 40]}
        yield matrix, caller.post("/power", of | more)
    group = {"matrix_id": caller.matrix("binary"), "difference": 0.08, "models": ["m08", "m09", "m10", "m11"]}
    measured = {"methods": ["random", "optimal_design"], "sizes": [6, 15, 25], "trials": 8}
    job: httpx.Response = caller.job("/mdad", {"matrix_id": caller.matrix("binary"), **measured})
    yield "measured", caller.post("/power", group | {"sizes": [20], "job_id": job.json()["id"]})
