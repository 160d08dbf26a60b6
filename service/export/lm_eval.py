"""lm-evaluation-harness 0.4.9 and later: the file for its option `--samples`.

Indices ascend, because the harness numbers the documents in the order of the data set but reads their
numbers in the order of the list. The command names only tasks with chosen examples, because the harness
runs a task in full if the file does not list it or lists it as empty.
"""

from __future__ import annotations

import json
import re
import shlex

from service.export.selection import ExportedSelection, ExportError

_PATTERN = re.compile(r"[,*?\[]")


def write(selection: ExportedSelection) -> str:
    """A JSON object of task → document indices."""
    return json.dumps(_indices(selection), ensure_ascii=False) + "\n"


def command(selection: ExportedSelection, filename: str) -> str:
    """The command; the caller adds the model and all other options of the full runs."""
    tasks = shlex.quote(",".join(_indices(selection)))
    return f"lm_eval --tasks {tasks} --samples {filename} --log_samples --output_path results"


def _indices(selection: ExportedSelection) -> dict[str, list[int]]:
    found = selection.by_task("lm_eval", "lm-evaluation-harness", "its samples_*.jsonl")
    for task, ids in found.items():
        if _PATTERN.search(task):
            raise ExportError(
                f"--tasks reads {task!r} as a list or a pattern, not as one task; use format=json"
            )
        unnumbered = next((name for name in ids if not (name.isascii() and name.isdigit())), None)
        if unnumbered is not None:
            raise ExportError(
                f"example {unnumbered!r} of task {task!r} has no number, and --samples takes numbers only; "
                "use format=json"
            )
    return {task: sorted(map(int, ids)) for task, ids in found.items()}
