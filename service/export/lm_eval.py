"""lm-evaluation-harness 0.4.9 and later: the file its `--samples` takes.

Indices ascend, since the harness numbers the documents in the order of the data set
while it reads their numbers in the order of the list. Only tasks with chosen examples are
named, since it runs a task that the file leaves out, or leaves empty, in full.
"""

from __future__ import annotations

import json
import re
import shlex

from service.export.selection import ExportedSelection, ExportError

_PATTERN = re.compile(r"[,*?\[]")


def write(choice: ExportedSelection) -> str:
    """Task → document indices."""
    return json.dumps(_indices(choice), ensure_ascii=False) + "\n"


def command(choice: ExportedSelection, filename: str) -> str:
    """To be completed by the model and whatever else the full runs had."""
    tasks = shlex.quote(",".join(_indices(choice)))
    return f"lm_eval --tasks {tasks} --samples {filename} --log_samples --output_path results"


def _indices(choice: ExportedSelection) -> dict[str, list[int]]:
    found = choice.by_task("lm_eval", "lm-evaluation-harness", "its samples_*.jsonl")
    for task, ids in found.items():
        if _PATTERN.search(task):
            raise ExportError(f"--tasks takes {task!r} for a list or a pattern, not for one task")
        odd = next((name for name in ids if not (name.isascii() and name.isdigit())), None)
        if odd is not None:
            raise ExportError(
                f"example {odd!r} of task {task!r} has no number, and --samples takes numbers only"
            )
    return {task: sorted(map(int, ids)) for task, ids in found.items()}
