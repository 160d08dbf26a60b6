"""Reads lm-evaluation-harness logs per sample, from 2023's write_out to today's samples_*.jsonl.

The log names neither the model nor, before 0.4.7, the filter. `lm_eval_results` finds both in the
results file of the same folder, if there is one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from service.core.errors import InvalidUpload
from service.ingest import documents, metric_choice, names
from service.ingest.answers import Answers, is_scalar, number
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record
from service.ingest.options import Options
from service.ingest.readers import lm_eval_results
from service.ingest.readers.lm_eval_choices import Choices
from service.ingest.readers.lm_eval_results import Run
from service.ingest.records import Block
from service.ingest.refusals import quoted, refuse
from service.ingest.source import File

_RECORD = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
     "prompt_hash", "target_hash", "truth", "bypass"}
)  # fmt: skip
_WATCHED = ("doc_id", "filter", "doc_hash", "acc", "acc_norm", "exact_match")
_HINT = (
    "; leaderboards use acc_norm for arc, hellaswag, bbh, gpqa and musr, acc for mmlu and winogrande, "
    "exact_match for gsm8k and math"
)

_BLOCKS = " (lm-eval before 0.4.7 names no filters: #1 is the first block; for gsm8k that is strict-match)"


def matches(head: Head) -> bool:
    """Whether the records have doc_id, a prompt and an answer."""
    return (
        head.shape in ("lines", "object", "array")
        and head.has("doc_id")
        and (head.has("arguments") or head.has("resps") or head.has("filtered_resps") or head.has("truth"))
    )


def read(file: File, context: Context) -> Iterator[Block]:
    """One task's answers of one model.

    Raises
    ------
    InvalidUpload
        The caller must choose the metric or filter, the name of the model or task cannot be found, or a
        record is broken.
    """
    run = lm_eval_results.run_of(file, context)
    if not lm_eval_results.wanted(run, context):
        return
    filters: dict[str, _Filter] = {}
    seen: dict[object, int] = {}
    for row, record in _records(file, context):
        doc_id, name = _identity(record, file, row)
        if name is None:
            turn = seen.get(doc_id, 0)
            seen[doc_id] = turn + 1
            name = run.filter_name(turn)
        found = filters.get(name)
        if found is None:
            found = filters[name] = _Filter(_metric(record, run, file, context), run.task, context.options)
        if not found.add(doc_id, record, row):
            raise _no_record(
                file, row, f"{found.metric} {quoted(str(record.get(found.metric)))}, which is not a score"
            )
    if not filters:
        raise refuse(f"{file.name} holds no records; send a log with samples", "no_rows")
    chosen = _chosen(list(filters), _label(file, run), context)
    yield _block(filters[chosen], chosen, run, file, context)


def _identity(record: Record, file: File, row: int) -> tuple[int | str, str | None]:
    """A record's document and filter."""
    doc_id, name = record.get("doc_id"), record.get("filter")
    if not isinstance(doc_id, int | str) or not isinstance(name, str | None):
        raise _no_record(file, row, "no doc_id" if name is None else "no doc_id or filter")
    return doc_id, name


def _chosen(filters: list[str], label: str, context: Context) -> str:
    """The filter to read: the caller's, or the only one."""
    wanted = context.options.filter
    unnamed = any(name.startswith("#") for name in filters)
    return metric_choice.choose_one(
        filters,
        (*wanted, "none", "#1") if len(filters) == 1 else wanted,
        "filter",
        label,
        _BLOCKS if unnamed else "",
    )


def _block(found: _Filter, chosen: str, run: Run, file: File, context: Context) -> Block:
    model = names.model(file, context, run.model)
    block = found.answers().block(model, file.name, task=run.task, unit="record" if run.is_array else "line")
    block.reported = run.reported(found.metric, chosen)
    block.total, block.ran = run.sizes
    if run.is_worse_higher(found.metric) and context.options.scale is None:
        detail = (
            f"{_label(file, run)}: lower values of {found.metric} are better; send scale=worst..best, like "
            "scale=1..0"
        )
        raise refuse(detail, "direction", [(file.name, found.metric)])
    return block


class _Filter:
    """The answers under one filter, in columns."""

    def __init__(self, metric: str, task: str, options: Options) -> None:
        self.metric, self._task, self._options = metric, task, options
        self._names: list[str] = []
        self._native: list[int | str] = []
        self._hashes: list[object] = []
        self._values = array("d")
        self._rows = array("q")
        self._choices = Choices()

    def add(self, doc_id: int | str, record: Record, row: int) -> bool:
        """Add one record; False if its metric is not a score."""
        value = record.get(self.metric)
        if type(value) is not float:
            if not is_scalar(value):
                return False
            value = number(value, self._options)
        self._names.append(f"{self._task}/{doc_id}")
        self._native.append(doc_id)
        self._values.append(value)
        self._rows.append(row)
        self._choices.add(record)
        if "doc_hash" in record:
            self._hashes.append(record["doc_hash"])
        return True

    def answers(self) -> Answers:
        """All answers added so far."""
        answers = Answers()
        answers.extend(self._names, self._values, self._rows, self._choices.confidences())
        answers.native, answers.hashes = list(map(str, self._native)), list(map(str, self._hashes))
        return answers


def _no_record(file: File, row: int, what: str) -> InvalidUpload:
    place = f"{file.name}, record {row}"
    return refuse(
        f"{place} has {what}; choose another metric or correct the record", "record", [(place, what)]
    )


def _records(file: File, context: Context) -> Iterator[tuple[int, Record]]:
    if Head.of(file).shape != "array":
        yield from documents.records(file, context.limits, _WATCHED)
        return
    for row, record in enumerate(documents.elements(file, context.limits), start=1):
        yield row, documents.mapping(record)


def _metric(record: Record, run: Run, file: File, context: Context) -> str:
    listed = record.get("metrics")
    keys = (
        listed if isinstance(listed, list) else [k for k in record if k not in _RECORD and not _is_prompt(k)]
    )
    candidates = [
        k for k in keys if isinstance(k, str) and k in record and k != "bypass" and is_scalar(record[k])
    ]
    return metric_choice.choose_one(candidates, context.options.metric, "metric", _label(file, run), _HINT)


def _is_prompt(key: str) -> bool:
    return key.startswith(("prompt_", "logit_"))


def _label(file: File, run: Run) -> str:
    return f"{file.name} (task {quoted(run.task)})"
