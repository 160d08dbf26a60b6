"""Inspect AI: the value of its option `--sample-id`.

The value is a comma-separated list of `fnmatch` patterns. Inspect strips blanks from each, and expects
the task in front if the run has several. So an id with a comma, a wildcard or blanks at its ends is
written as a pattern that matches only this id. Inspect treats 7, "7" and "007" as the same id.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase

from service.export.selection import ExportedSelection, ExportError

LONGEST = 100_000
"""Bytes of an argument; the kernel's limit is 131,072."""

# A comma can only be written as a range between its two neighbouring characters.
_COMMA = "[+--]"
_SPECIAL = re.compile(r"[*?\[]|^\s+|\s+$")


def write(selection: ExportedSelection) -> str:
    """The patterns, comma-separated, on one line unless an id has several lines."""
    found = _by_task(selection)
    patterns = []
    for task, ids in found.items():
        name = _name(task)
        for sample in ids:
            pattern = _pattern(sample, selection.benchmark.get(task, ()))
            scoped = len(found) > 1 or sample.lower().startswith(f"{name.lower()}:")
            patterns.append(f"{name}:{pattern}" if scoped else pattern)
    return ",".join(patterns) + "\n"


def command(selection: ExportedSelection, filename: str) -> str:
    """The command; the caller adds the model and all other options of the full runs."""
    tasks = list(_by_task(selection))
    if len(write(selection).encode()) <= LONGEST:
        return f'inspect eval {" ".join(map(shlex.quote, tasks))} --sample-id "$(cat {filename})"'
    ids = f"open({filename!r}).read().rstrip().split(',')"
    script = f"from inspect_ai import eval; eval({tasks!r}, sample_id={ids})"
    return f"python -c {shlex.quote(script)}"


def _by_task(selection: ExportedSelection) -> dict[str, list[str]]:
    return selection.by_task("inspect", "Inspect", "its .eval or .json logs")


def _name(task: str) -> str:
    """The name of a task without its file."""
    return task.rpartition("@")[2]


def _pattern(sample: str, known: Sequence[str]) -> str:
    """A pattern that matches this id and no other id of its task."""
    pattern = _SPECIAL.sub(lambda found: "".join(f"[{c}]" for c in found[0]), sample).replace(",", _COMMA)
    if pattern != sample:
        other = next((name for name in known if name != sample and fnmatchcase(name, pattern)), None)
        if other is not None:
            raise ExportError(
                f"Inspect's --sample-id cannot tell {sample!r} from {other!r}, because it separates ids by "
                "commas; use format=json"
            )
    return pattern
