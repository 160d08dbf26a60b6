"""Reads Every Eval Ever: instance-level JSON lines, and the aggregate file of the same folder if there is
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from service.ingest import documents, metric_choice, names
from service.ingest.answers import Answers, is_scalar, number
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record, mapping, sequence
from service.ingest.records import Block
from service.ingest.refusals import refuse
from service.ingest.source import File

_METRICS = ("score", "is_correct")


def matches(head: Head) -> bool:
    """Whether these are instance records."""
    return head.shape in ("lines", "object") and head.has("evaluation_id", "sample_id", "evaluation")


def is_excluded(head: Head) -> bool:
    """Whether it is the aggregate file."""
    return head.shape == "object" and head.has("evaluation_id", "evaluation_results")


class _Result(NamedTuple):
    """The aggregate file's entry for one evaluation."""

    reported: float | None
    lower_is_better: bool
    low: float
    high: float


def read(file: File, context: Context) -> Iterator[Block]:
    """The answers in one file, by model and evaluation.

    Raises
    ------
    InvalidUpload
        A record has missing fields, or lower values of its metric are better.
    """
    found: dict[tuple[str, str], Answers] = {}
    results: dict[tuple[str, str], _Result | None] = {}
    for row, record in documents.records(file, context.limits):
        task = str(record.get("evaluation_name") or "")
        model = names.model(file, context, record.get("model_id"))
        key = model, task
        if key not in found:
            found[key], results[key] = Answers(), _result(record, file, context)
            context.tasks.append(task)
        _add(found[key], results[key], record, task, row, file, context)
    for (model, task), answers in found.items():
        if context.options.subtask in (None, task):
            block = answers.block(model, file.name, task=task, unit="line")
            result = results[model, task]
            block.reported = None if result is None else result.reported
            yield block


def _add(
    answers: Answers,
    result: _Result | None,
    record: Record,
    task: str,
    row: int,
    file: File,
    context: Context,
) -> None:
    place = f"{file.name}, line {row}"
    sample, evaluation = record.get("sample_id"), mapping(record.get("evaluation"))
    candidates = [
        name for name in _METRICS if is_scalar(evaluation.get(name)) and evaluation.get(name) is not None
    ]
    if not isinstance(sample, str | int) or not candidates:
        raise refuse(
            f"{place} has no sample_id or no evaluation.score; add both; add both; add both",
            "record",
            [(place, "incomplete")],
        )
    metric = metric_choice.choose_one(candidates, context.options.metric or _METRICS, "metric", place)
    value = number(evaluation[metric], context.options)
    if metric == "score" and result is not None and context.options.scale is None:
        value = _fraction(value, result, place, context)
    answers.add(f"{task}/{sample}" if task else str(sample), value, row)
    answers.native.append(str(sample))
    if isinstance(record.get("sample_hash"), str):
        answers.hashes.append(record["sample_hash"])


def _fraction(value: float, result: _Result, place: str, context: Context) -> float:
    if result.lower_is_better:
        detail = (
            f"{place}: lower values of this metric are better; send scale={result.high:g}..{result.low:g}"
        )
        raise refuse(detail, "direction", [(place, "lower_is_better")])
    if (result.low, result.high) == (0, 1):
        return value
    context.warn(
        f"scores from {result.low:g} to {result.high:g}, the range in the aggregate file, are read as 0 to 1"
    )
    return (value - result.low) / (result.high - result.low)


def _result(record: Record, file: File, context: Context) -> _Result | None:
    for in_folder in context.in_same_folder(file):
        if in_folder is file or not is_excluded(Head.of(in_folder)):
            continue
        document = mapping(documents.document(in_folder, context.limits))
        if document.get("evaluation_id") != record.get("evaluation_id"):
            continue
        for result in map(mapping, sequence(document.get("evaluation_results"))):
            if result.get("evaluation_name") == record.get("evaluation_name"):
                return _of(result)
    return None


def _of(result: Record) -> _Result:
    config, details = mapping(result.get("metric_config")), mapping(result.get("score_details"))
    least, most, score = config.get("min_score"), config.get("max_score"), details.get("score")
    low, high = 0.0, 1.0
    if isinstance(least, int | float) and isinstance(most, int | float) and least < most:
        low, high = float(least), float(most)
    return _Result(
        reported=(float(score) - low) / (high - low) if isinstance(score, int | float) else None,
        lower_is_better=config.get("lower_is_better") is True,
        low=low,
        high=high,
    )
