"""lm-evaluation-harness: run in full, select, run the chosen documents only, get a score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.working import Worker
from tests.roundtrip.conftest import HERE, Run, exported, packed

SIZES = {"tiny_algebra": 30, "tiny_history": 14, "tiny_unused": 6}
TASK = """
task: {task}
dataset_path: json
dataset_kwargs:
  data_files: {{test: {data}}}
test_split: test
output_type: multiple_choice
doc_to_text: "Q: {{{{q}}}}\\nA:"
doc_to_target: gold
doc_to_choice: choices
metric_list:
  - {{metric: acc, aggregation: mean, higher_is_better: true}}
metadata: {{version: 1.0}}
"""


def write_tasks(folder: Path) -> None:
    """Two choices a question, so that the dummy model's random answers are right half the time."""
    (folder / "tasks").mkdir()
    for task, size in SIZES.items():
        docs = [{"q": f"{task} {i}?", "choices": ["yes", "no"], "gold": i % 2} for i in range(size)]
        data = folder / f"{task}.jsonl"
        data.write_text("".join(json.dumps(doc) + "\n" for doc in docs))
        (folder / "tasks" / f"{task}.yaml").write_text(TASK.format(task=task, data=data))


def logged(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Task → records of a run."""
    found = {}
    for file in folder.rglob("samples_*.jsonl"):
        task = file.name.removeprefix("samples_").rpartition("_")[0]
        found[task] = [json.loads(line) for line in file.read_text().splitlines()]
    return found


def test_the_harness_runs_the_chosen_documents_and_its_log_becomes_a_score(
    run: Run, api: httpx.Client, worker: Worker, tmp_path: Path
) -> None:
    write_tasks(tmp_path)
    run(f"python {HERE}/many_lm_eval.py")
    uploaded = api.post("/matrices", content=packed(tmp_path / "runs"))
    assert uploaded.status_code == 201, uploaded.text
    matrix = uploaded.json()
    assert (matrix["models"], matrix["examples"], matrix["subtasks"]) == (6, 50, sorted(SIZES))
    for report in matrix["reports"]:
        records = [r for rs in logged(tmp_path / "runs" / report["model"]).values() for r in rs]
        own = sum(record["acc"] for record in records) / 50
        assert report["mean"] == pytest.approx(own) == pytest.approx(report["reported"])

    ask = {"matrix_id": matrix["id"], "method": "stratified", "size": 12}
    chosen = worker.result(api, "/select", ask)
    command = exported(api, chosen["selection_id"], "lm_eval", tmp_path)
    run(f"{command} --model dummy --model_args pretrained=nightly --seed 99 --include_path tasks")

    records = logged(tmp_path / "results")
    ran = {f"{task}/{record['doc_id']}" for task, found in records.items() for record in found}
    assert ran == {example["id"] for example in chosen["examples"]}
    scored = api.post(
        f"/selections/{chosen['selection_id']}/scores?estimator=plain", content=packed(tmp_path / "results")
    )
    assert scored.status_code == 200, scored.text
    (score,) = scored.json()["scores"]
    means = {task: sum(r["acc"] for r in found) / len(found) for task, found in records.items()}
    plain = sum(SIZES[task] / 50 * mean for task, mean in means.items())
    assert score["model"] == "nightly"
    assert score["score"] == pytest.approx(plain)
    assert not any("another content" in warning for warning in scored.json()["warnings"])
