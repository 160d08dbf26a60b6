"""Inspect AI: run in full, select, run the chosen samples only, get a score."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import pytest

from tests.api.working import Worker
from tests.roundtrip.conftest import HERE, Run, exported, packed

ODD = ["a,b", "x*y", "[z]", "q?", "colon:1", "words:2", "ü/3", "007x"]
# What the ids beside them would match as patterns.
NEAR = ["a-b!", "xzy", "z", "qq"]


def test_inspect_runs_the_chosen_samples_and_its_log_becomes_a_score(
    run: Run, api: httpx.Client, worker: Worker, tmp_path: Path
) -> None:
    for name in ("tasks.py", "many_inspect.py"):
        shutil.copy(HERE / name, tmp_path)
    run("python many_inspect.py")
    (tmp_path / "logs").rename(tmp_path / "full")
    uploaded = api.post("/matrices", content=packed(tmp_path / "full"))
    assert uploaded.status_code == 201, uploaded.text
    matrix = uploaded.json()
    assert (matrix["models"], matrix["examples"]) == (6, 32)
    assert all(report["answers"] == 64 for report in matrix["reports"])
    assert all(report["mean"] == pytest.approx(report["reported"]) for report in matrix["reports"])

    # A seed that draws all of the odd ids and none of those near them.
    ask = {"matrix_id": matrix["id"], "method": "random", "size": 16, "seed": 1120}
    chosen = worker.result(api, "/select", ask)
    words = {example["id"].removeprefix("words/") for example in chosen["examples"]}
    assert words.issuperset(ODD)
    assert words.isdisjoint(NEAR)
    command = exported(api, chosen["selection_id"], "inspect", tmp_path)
    run(f"{command} --model mockllm/nightly")

    scored = api.post(
        f"/selections/{chosen['selection_id']}/scores?estimator=plain", content=packed(tmp_path / "logs")
    )
    assert scored.status_code == 200, scored.text
    told = scored.json()
    (score,) = told["scores"]
    # The mock model always says what two samples in three take for right.
    ids = [example["id"].partition("/") for example in chosen["examples"]]
    right = sum(_place(task, name) % 3 != 0 for task, _, name in ids)
    assert score["model"] == "mockllm/nightly"
    assert score["score"] == pytest.approx(right / 16)
    assert not any("outside the selection" in warning for warning in told["warnings"])


def _place(task: str, name: str) -> int:
    """Where the sample stands in its data set."""
    return (ODD + NEAR).index(name) if task == "words" else int(name) - 1
