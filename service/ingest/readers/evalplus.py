"""Reads EvalPlus and BigCodeBench results: verdicts of each task's solutions on base and extra tests."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from service.ingest import documents, metric_choice, names
from service.ingest.answers import Answers
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record, mapping, sequence
from service.ingest.records import Block
from service.ingest.refusals import refuse
from service.ingest.source import File

_SUFFIXES = ("_eval_results.json", ".eval_results.json", "-eval_results.json")
_GOOD = "pass"

Verdicts = tuple[bool, bool | None]
"""Whether a solution passed the base tests, and the extra tests; None where those did not run."""


def matches(head: Head) -> bool:
    """Whether it is an object with a date and `eval` by task."""
    return head.shape == "object" and head.has("eval", "date") and not head.has("status")


def is_excluded(head: Head) -> bool:
    """Whether it holds problems or solutions, but no verdicts."""
    return (
        head.shape in ("lines", "object")
        and head.has("task_id")
        and (
            head.keys <= {"task_id", "solution", "completion", "_identifier"}
            or head.has("prompt", "entry_point")
        )
    )


def read(file: File, context: Context) -> Iterator[Block]:
    """One model's verdicts: `plus` if base and extra tests passed, or `base` where only base tests ran.

    Raises
    ------
    InvalidUpload
        A task has an unknown layout, or the model's name cannot be found.
    """
    document = mapping(documents.document(file, context.limits))
    tasks = mapping(document.get("eval"))
    verdicts = {task: _verdicts(task, value, file) for task, value in tasks.items()}
    both = any(plus is not None for pairs in verdicts.values() for _, plus in pairs)
    metric = metric_choice.choose_one(
        ["plus", "base"] if both else ["base"],
        context.options.metric or ("plus", "base"),
        "metric",
        file.name,
    )
    answers = _answers(verdicts, metric, document.get("hash"))
    if not len(answers):
        raise refuse(
            f"{file.name} holds no verdicts; send the *_eval_results.json of a finished run", "no_rows"
        )
    block = answers.block(names.model(file, context, None, _stem(file)), file.name, unit="task")
    reported = mapping(mapping(document.get("pass_at_k")).get(metric)).get("pass@1")
    block.reported = float(reported) if isinstance(reported, int | float) else None
    yield block


def _answers(verdicts: Mapping[str, list[Verdicts]], metric: str, version: object) -> Answers:
    answers = Answers()
    for row, (task, pairs) in enumerate(verdicts.items(), start=1):
        for repeat, (base, plus) in enumerate(pairs):
            right = base and (plus is not False or metric == "base")
            answers.add(task, float(right), row, repeat=repeat)
            answers.native.append(task)
            if isinstance(version, str):
                answers.hashes.append(f"{task} of {version}")
    return answers


def _verdicts(task: str, value: object, file: File) -> list[Verdicts]:
    """Whether each solution passed the base and the extra tests; None where the extra tests did not run."""
    if isinstance(value, dict) and "base" in value:
        base, plus = sequence(value["base"]), sequence(value.get("plus"))
        return [(_status(b), _status(plus[i]) if i < len(plus) else None) for i, b in enumerate(base)]
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return [_of(item) for item in value]
    detail = (
        f"{file.name}: task {task!r} has no verdicts in a layout that this service reads; send the file "
        "that EvalPlus or BigCodeBench wrote"
    )
    raise refuse(detail, "record", [(task, "unknown layout")])


def _of(item: Record) -> Verdicts:
    base = item.get("base_status", item.get("status"))
    plus = item.get("plus_status")
    return base == _GOOD, None if plus is None else plus == _GOOD


def _status(verdict: object) -> bool:
    first = (
        verdict[0] if isinstance(verdict, Sequence) and not isinstance(verdict, str) and verdict else verdict
    )
    return first == _GOOD


def _stem(file: File) -> str | None:
    name = posixpath.basename(file.name)
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix).replace("--", "/", 1)
    return None
