"""Reads general JSON lines: one record per score, or py-irt's format with one line per model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from service.ingest import columns, documents, long_table, scores
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.records import Block
from service.ingest.refusals import listed, refuse
from service.ingest.source import File


def matches(head: Head) -> bool:
    """Whether it is JSON lines."""
    return head.shape == "lines"


def read(file: File, context: Context) -> Iterable[Block]:
    """One score per line: model, example, score and the other columns of a long table.

    Raises
    ------
    InvalidUpload
        A line is not such a record.
    """
    lines = documents.records(file, context.limits)
    first = next(lines, None)
    if first is None:
        raise refuse(f"{file.name} holds no records; add one record per score", "no_rows")
    roles = columns.long(list(first[1]), context.options)
    if roles is None:
        detail = (
            f"{file.name}: its records have the fields {listed(sorted(first[1]))}, but a record needs the "
            "fields model, example and score"
        )
        raise refuse(detail, "not_scores", [(f"{file.name}, line {first[0]}", "no scores")])
    numbers: list[int] = []

    def noted() -> Iterator[tuple[int, documents.Record]]:
        for number, record in chain([first], lines):
            numbers.append(number)
            yield number, record

    table = long_table.columns_of(noted(), roles.used)
    return long_table.blocks(table, roles, file.name, lambda i: f"{file.name}, line {numbers[i]}", context)


def matches_py_irt(head: Head) -> bool:
    """Whether it is py-irt's format: subject_id and responses."""
    return head.shape in ("lines", "object") and head.has("subject_id", "responses")


def read_py_irt(file: File, context: Context) -> Iterator[Block]:
    """py-irt's format: each line holds a model and its responses by example; absent examples were not
    answered.

    Raises
    ------
    InvalidUpload
        A line has missing fields, or a response is not a number.
    """
    for number, record in documents.records(file, context.limits):
        yield _subject(record, file.name, f"{file.name}, line {number}", context)


def _subject(record: documents.Record, source: str, place: str, context: Context) -> Block:
    model, responses = record.get("subject_id"), record.get("responses")
    if not isinstance(model, str | int) or not isinstance(responses, dict) or not responses:
        raise refuse(f"{place} needs subject_id and responses", "py_irt", [(place, "incomplete")])
    names = list(responses)
    words = [scores.text(value) or "" for value in responses.values()]
    distinct = list(dict.fromkeys(words))
    index = {word: k for k, word in enumerate(distinct)}
    where = scores.Where(lambda *_: place, lambda *_: str(model), lambda _, j: names[j])
    codes = np.array([[index[word] for word in words]])
    cells = scores.from_words(distinct, codes, None, context.options, where)
    return Block(
        model=str(model),
        source=source,
        names=names,
        values=cells.values[0].astype(np.float64),
        place=lambda _: place,
        states=None if cells.states is None else cells.states[0],
        scaled=True,
    )
