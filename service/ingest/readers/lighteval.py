"""Reads lighteval details in Parquet: three layouts, and those of the Open LLM Leaderboard v1.

≥ 0.11           columns doc, metric, model_response (structs)
0.1–0.3, 0.8–0.10   flat columns, metrics a struct (or flattened, or a bare acc)
0.4–0.7          the same, with every column as the text of a Python value
"""

from __future__ import annotations

import ast
import math
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from service.ingest import metric_choice, names
from service.ingest.answers import Answers, is_scalar, number, right_choice
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record, mapping
from service.ingest.readers.parquet import opened, rows
from service.ingest.records import Block
from service.ingest.refusals import quoted, refuse
from service.ingest.source import File

_DETAILS = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT.*)\.parquet$")
_SPLIT = re.compile(r"(?P<date>\d{4}_\d\d_\d\dT.*|latest)")
_OF_N = re.compile(r":k=1&n=(\d+)$")
_LONGEST = 1 << 20
_METRICS = ("acc", "acc_norm", "mc1", "mc2", "em", "qem", "f1", "exact_match")
_NEW = ("doc.id", "doc.query", "doc.task_name", "doc.gold_index", "metric", "model_response.logprobs")
_OLD = ("metrics", "example", "full_prompt", "gold_index", "predictions")


def matches(head: Head) -> bool:
    """Whether it is a Parquet file with the columns of one of the layouts."""
    columns = head.columns
    new = columns >= {"doc", "metric", "model_response"}
    return new or ("full_prompt" in columns and any(c == "acc" or c.startswith("metrics") for c in columns))


def is_excluded(head: Head) -> bool:
    """Whether it is the results file."""
    return head.shape == "object" and head.has("config_general", "results")


def read(file: File, context: Context) -> Iterator[Block]:
    """One task's answers of one model.

    Raises
    ------
    InvalidUpload
        The caller must choose the metric, or the name of the model or task cannot be found.
    """
    answers, task, metric = Answers(), None, None
    for row, record in enumerate(_records(file, context), start=1):
        if task is None:
            task = _task(record, file)
            context.tasks.append(task)
            if context.options.subtask not in (None, task, task.partition("|")[0]):
                return
        metrics = _metrics(record, file, row)
        if metric is None:
            candidates = [name for name, value in metrics.items() if is_scalar(value)]
            metric = metric_choice.choose_one(
                candidates, context.options.metric, "metric", f"{file.name} ({quoted(task)})"
            )
        _add(answers, record, metrics.get(metric), task, row, context)
    if task is None or metric is None:
        raise refuse(f"{file.name} has no rows", "no_rows")
    block = answers.block(names.model(file, context, _model(file)), file.name, task=task, unit="row")
    if found := _OF_N.search(metric):
        block.counts = np.full(len(answers), int(found[1]), dtype=np.int64)
    yield block


def _add(answers: Answers, record: Record, value: object, task: str, row: int, context: Context) -> None:
    doc = mapping(record.get("doc"))
    native = doc.get("id")
    native = str(row - 1) if native is None or native == "" else str(native)
    text = doc.get("query") or record.get("example")
    answers.add(f"{task}/{native}", number(value, context.options), row, confidence=_confidence(record))
    answers.native.append(native)
    if text is not None:
        answers.hashes.append(names.content_hash(str(text)))


def _records(file: File, context: Context) -> Iterator[Record]:
    """The relevant columns of each row; texts of Python values are parsed."""
    with opened(file, context.limits) as parquet:
        present = parquet.schema_arrow.names
        columns = list(_NEW) if "doc" in present else [c for c in present if c in _OLD or _is_metric(c)]
        texts = [f.name for f in parquet.schema_arrow if str(f.type) in ("string", "large_string")]
        evaluated = [c for c in ("metrics", "gold_index", "predictions") if c in texts]
        for n_row, record in enumerate(rows(parquet, file, columns), start=1):
            for column in evaluated:
                record[column] = _evaluated(record[column], column, file, n_row)
            yield record


def _is_metric(column: str) -> bool:
    return column.startswith("metrics.") or column in _METRICS


def _evaluated(text: object, column: str, file: File, row: int) -> object:
    if not isinstance(text, str):
        return None
    try:
        if len(text) > _LONGEST:
            raise ValueError("too long")
        return ast.literal_eval(text.replace("nan", "None"))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        place = f"{file.name}, row {row}, column {column}"
        raise refuse(
            f"{place}: {quoted(text)} is not a Python value", "repr", [(place, quoted(text))]
        ) from None


def _task(record: Record, file: File) -> str:
    stated = mapping(record.get("doc")).get("task_name")
    if isinstance(stated, str) and stated:
        return stated
    name = posixpath.basename(file.name)
    if found := _DETAILS.search(name):
        return found["task"]
    folder = posixpath.basename(posixpath.dirname(file.name))
    return folder if folder and _SPLIT.match(name) else name.removesuffix(".parquet")


def _metrics(record: Record, file: File, row: int) -> Mapping[str, object]:
    for column in ("metric", "metrics"):
        if column in record:
            found = record[column]
            if isinstance(found, dict):
                return found
            place = f"{file.name}, row {row}"
            raise refuse(
                f"{place}: {column} holds no metrics; send the details file that lighteval wrote",
                "record",
                [(place, column)],
            )
    flat = {k.removeprefix("metrics."): v for k, v in record.items() if k.startswith("metrics.")}
    return flat or {k: v for k, v in record.items() if _is_metric(k)}


def _model(file: File) -> str | None:
    """`details/<org>/<model>/<date>/<file>`, or a folder details_<org>__<model>."""
    parts = file.name.split("/")
    if "details" in parts[:-3]:
        at = parts.index("details")
        return "/".join(parts[at + 1 : -2]) or None
    folder = next((part for part in parts[:-1] if part.startswith("details_") and "__" in part), None)
    return None if folder is None else folder.removeprefix("details_").replace("__", "/", 1)


def _confidence(record: Record) -> float:
    doc, response = mapping(record.get("doc")), mapping(record.get("model_response"))
    gold = doc.get("gold_index", record.get("gold_index"))
    right = [gold] if isinstance(gold, int) else gold
    raw = response.get("logprobs") or record.get("predictions")
    if not isinstance(raw, list) or len(raw) < 2 or not isinstance(right, list):
        return math.nan
    logprobs = _logprobs(raw)
    if logprobs is None or not all(isinstance(k, int) for k in right):
        return math.nan
    return right_choice(logprobs, right)


def _logprobs(raw: Sequence[object]) -> list[float] | None:
    values: list[float] = []
    for item in raw:
        first = item[0] if isinstance(item, list | tuple) and item else item
        if not isinstance(first, int | float) or isinstance(first, bool):
            return None
        values.append(float(first))
    return values
