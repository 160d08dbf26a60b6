"""What an upload is said to hold, first looks at matrices, and selections as other tools take them."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np

from service.engine.data import summary
from service.engine.data.item_rest import doubtful, item_rest
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from tests.golden.caller import Caller, Named, kept
from tests.golden.matrices import TABLES, Table, binary

CSV = "id,group,alpha,beta,gamma\nq1,red,100,40.5,\nq2,red,0,55,20\nq3,blue,12.25,55,20\nq4,blue,75,,100\n"
KINDS = ("binary", "graded", "subtasks", "gaps", "confident")
OPTIONS = {"orientation": "models_as_columns", "subtask": "group", "scale": "percent", "name": "percents"}


def uploads(caller: Caller) -> Named:
    """Uploads, their models and their cells."""
    for name in KINDS:
        yield name, kept(caller.api.post("/matrices", json=TABLES[name]))
    answer = caller.api.post("/matrices", params=OPTIONS, content=CSV, headers={"Content-Type": "text/csv"})
    yield "csv of percents", kept(answer)
    path = f"/matrices/{answer.json()['id']}"
    yield "csv of percents, models", caller.get(f"{path}/models")
    yield "csv of percents, one model", caller.get(f"{path}/models/beta")
    yield "gaps, models", caller.get(f"/matrices/{caller.matrix('gaps')}/models", limit="7")


def summaries(caller: Caller) -> Named:
    """What the page of a matrix and the planning of a job rest on."""
    for name in KINDS:
        matrix = _matrix(TABLES[name])
        correlations = item_rest(matrix)
        found = {
            "outline": asdict(Outline.of(matrix)) | {"models": len(matrix.models), "examples": None},
            "difficulty": summary.difficulty(matrix).tolist(),
            "identical_models": summary.identical_models(matrix),
            "subtasks": [asdict(subtask) for subtask in summary.subtasks(matrix)],
            "item_rest": [None if np.isnan(r) else r for r in correlations.tolist()],
            "doubtful": doubtful(matrix, correlations).tolist(),
        }
        # As JSON has it: tuples are lists.
        yield name, {"status": "called", "answer": json.loads(json.dumps(found))}


def _matrix(table: Table) -> Matrix:
    scores = np.array(table["scores"], dtype=float)
    missing = np.isnan(scores)
    return Matrix.build(
        table["models"],
        table["examples"],
        np.nan_to_num(scores),
        subtasks=table.get("subtasks"),
        missing=missing if missing.any() else None,
    )


def exports(caller: Caller) -> Named:
    """A selection as a file, with the commands; from JSON and from a tool's logs."""
    chosen = {"plain": caller.selection("subtasks", "stratified", 8), "lm_eval": _logged(caller)}
    for name, selection in chosen.items():
        path = f"/selections/{selection}"
        yield f"{name}, offers", {"status": 200, "answer": caller.get(path)["answer"]["exports"]}
        for form in ("ids", "csv", "json", "lm_eval", "inspect", "helm"):
            yield f"{name} as {form}", caller.get(f"{path}/export", format=form)


def _logged(caller: Caller) -> str:
    """A selection from logs of lm-evaluation-harness."""
    rows = binary(12, 24, 8).tolist()
    sent = [{"file": ("samples_arc_2025-01-01T00-00-00.000000.jsonl", _log(row))} for row in rows]
    answer = caller.api.post("/matrices", params={"name": "logs", "model": "m0"}, files=sent[0])
    assert answer.status_code == 201, answer.text
    matrix = answer.json()["id"]
    for at, files in enumerate(sent[1:], 1):
        put = caller.api.put(f"/matrices/{matrix}/models/m{at}", files=files)
        assert put.status_code == 201, put.text
    ask = {"matrix_id": matrix, "method": "optimal_design", "size": 6}
    job = caller.job("/select", ask).json()
    return str(caller.api.get(job["links"]["result"]).json()["selection_id"])


def _log(row: list[int]) -> bytes:
    records = (
        {
            "doc_id": at,
            "doc": {"question": f"q{at}"},
            "target": "0",
            "arguments": {},
            "resps": [["x"]],
            "filtered_resps": ["x"],
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": f"hash{at}",
            "task_name": "arc",
            "acc": value,
        }
        for at, value in enumerate(row)
    )
    return "\n".join(map(json.dumps, records)).encode()
