"""Reads promptfoo results, .json and .jsonl: a model is a provider, or a provider with one of several
prompts.

`--repeat` numbers repeats as new tests, so a test is identified by its variables and assertions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from service.ingest import documents, metric_choice, names
from service.ingest.answers import ERRORED, UNSCORED, Answers, number
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record, mapping, sequence
from service.ingest.records import Block
from service.ingest.refusals import refuse
from service.ingest.source import File

_INFRASTRUCTURE = 2
_HASH = 8


def matches(head: Head) -> bool:
    """Whether it holds results of tests."""
    lines = head.shape in ("lines", "object") and head.has("promptIdx", "testIdx")
    document = (
        head.shape == "object" and head.has("results") and (head.has("evalId") or b'"promptIdx"' in head.data)
    )
    return lines or document


def is_excluded(head: Head) -> bool:
    """Whether it is promptfoo's CSV, which repeats its column names."""
    header = head.data.partition(b"\n")[0].split(b",")
    return head.shape == "text" and b"Grader Reason" in header and b"Score" in header


class _Row(NamedTuple):
    provider: str
    prompt: str
    test: str
    values: dict[str, object]
    state: int | None
    row: int


def read(file: File, context: Context) -> Iterator[Block]:
    """The answers of each provider (and prompt).

    Raises
    ------
    InvalidUpload
        A result has no provider, or pass and score differ and the caller did not choose.
    """
    rows = [_row(mapping(item), k, file, context) for k, item in _results(file, context)]
    if not rows:
        raise refuse(f"{file.name} holds no results; send the file that -o out.json wrote", "no_rows")
    prompts = {row.prompt for row in rows}
    metric = _metric(rows, file, context)
    found: dict[str, Answers] = {}
    for row in rows:
        model = row.provider if len(prompts) == 1 else f"{row.provider} | {row.prompt}"
        value = math.nan if row.state is not None else number(row.values.get(metric), context.options)
        repeat = context.repeat_number(f"{file.name}\n{model}\n{row.test}", counting=True)
        found.setdefault(model, Answers()).add(row.test, value, row.row, state=row.state, repeat=repeat)
    for model, answers in found.items():
        yield answers.block(model, file.name, unit="result")


def _metric(rows: list[_Row], file: File, context: Context) -> str:
    """The caller's metric, or `pass` where the score says the same."""
    differ = any(row.values.get("score") not in (None, float(bool(row.values.get("pass")))) for row in rows)
    candidates = list(dict.fromkeys(key for row in rows for key in row.values))
    if not differ:
        candidates.remove("score")
    wanted = context.options.metric or (() if differ else ("pass",))
    return metric_choice.choose_one(candidates, wanted, "metric", file.name)


def _results(file: File, context: Context) -> Iterator[tuple[int, object]]:
    if Head.of(file).has("promptIdx"):
        yield from documents.records(file, context.limits)
        return
    new = documents.elements(file, context.limits, "results", "results")
    first = next(new, None)
    found = documents.elements(file, context.limits, "results") if first is None else chain([first], new)
    yield from enumerate(found, start=1)


def _row(record: Record, row: int, file: File, context: Context) -> _Row:
    provider, prompt = record.get("provider"), mapping(record.get("prompt"))
    stated = mapping(provider).get("label") or mapping(provider).get("id") or provider
    case = mapping(record.get("testCase"))
    asserts = case.get("assert")
    grading = mapping(record.get("gradingResult"))
    state = ERRORED if record.get("failureReason") == _INFRASTRUCTURE else None
    if state is None and not asserts and not sequence(grading.get("componentResults")):
        state = UNSCORED
        context.warn("tests without assertions always pass, so they are read as unscored")
    return _Row(
        provider=names.model(file, context, stated),
        prompt=str(prompt.get("label") or prompt.get("raw") or ""),
        test=_test(record.get("vars", case.get("vars")), asserts),
        values={
            "pass": record.get("success"),
            "score": record.get("score"),
            **mapping(record.get("namedScores")),
        },
        state=state,
        row=row,
    )


def _test(variables: object, asserts: object) -> str:
    """A test's id: its variables, and a hash of its assertions."""
    text = json.dumps(variables, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    checks = json.dumps(asserts, sort_keys=True, ensure_ascii=False)
    return f"{names.short(text)} #{names.content_hash(checks)[:_HASH]}"
