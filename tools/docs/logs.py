"""The bundled sample as logs of lm-evaluation-harness, so that the tutorial starts where its readers do.

    python tools/docs/logs.py FOLDER [--examples FILE] [MODEL ...]

One folder a model, as `lm_eval --output_path FOLDER --log_samples` leaves it: a results file and a
samples file a task. `--examples` keeps the examples that a file of ids names: a run on those alone.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

SAMPLE = Path(__file__).parents[2] / "service" / "sample" / "digits.npz"
DATE = "2026-01-31T12-00-00.000000"


def main() -> None:
    """Write the folders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--examples", type=Path)
    asked = parser.parse_args()
    with np.load(SAMPLE) as sample:
        scores = dict(zip(sample["models"].tolist(), sample["scores"], strict=True))
        tasks = numbered(sample["subtasks"].tolist())
    kept = set(asked.examples.read_text().split()) if asked.examples else None
    for model in asked.models or scores:
        write(asked.folder / model, model, scores[model].tolist(), tasks, kept)


def numbered(subtasks: list[str]) -> list[tuple[str, int]]:
    """Task and running number within it of each example."""
    seen: dict[str, int] = {}
    found = []
    for subtask in subtasks:
        found.append((subtask, seen.get(subtask, 0)))
        seen[subtask] = found[-1][1] + 1
    return found


def write(
    folder: Path, model: str, scores: list[int], tasks: list[tuple[str, int]], kept: set[str] | None
) -> None:
    """One model's run."""
    folder.mkdir(parents=True, exist_ok=True)
    records: dict[str, list[dict[str, Any]]] = {}
    for score, (task, number) in zip(scores, tasks, strict=True):
        if kept is None or f"{task}/{number}" in kept:
            records.setdefault(task, []).append(record(number, score))
    for task, lines in records.items():
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / f"samples_{task}_{DATE}.jsonl").write_text(text)
    means = {task: sum(line["acc"] for line in lines) / len(lines) for task, lines in records.items()}
    results = {
        "results": {task: {"alias": task, "acc,none": mean} for task, mean in means.items()},
        "configs": {task: {"task": task} for task in means},
        "versions": dict.fromkeys(means, 1.0),
        "higher_is_better": {task: {"acc": True} for task in means},
        "lm_eval_version": "0.4.13",
        "model_source": "hf",
        "model_name": model,
    }
    (folder / f"results_{DATE}.json").write_text(json.dumps(results))


def record(number: int, score: int) -> dict[str, object]:
    """One example's line."""
    return {
        "doc_id": number,
        "doc": {},
        "target": "1",
        "arguments": {},
        "resps": [[str(score)]],
        "filtered_resps": [str(score)],
        "filter": "none",
        "metrics": ["acc"],
        "acc": float(score),
    }


if __name__ == "__main__":
    main()
