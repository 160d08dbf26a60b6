"""Reads general JSON: a whole matrix, records, or scores nested by model or by example."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import pyarrow as pa

from service.ingest import columns, ids, long_table, scores, strict_json, wide_table
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record
from service.ingest.readers import json_matrix
from service.ingest.records import Block
from service.ingest.refusals import listed, refuse
from service.ingest.source import File
from service.ingest.streams import too_large_document
from service.ingest.upload import Grid


def matches(head: Head) -> bool:
    """Whether it is a JSON document."""
    return head.shape in ("object", "array")


def read(file: File, context: Context) -> Grid | Iterable[Block]:
    """The matrix, records or nested scores in one JSON document.

    Raises
    ------
    InvalidUpload
        It is none of these, or its content is not a matrix.
    """
    with file.open() as stream:
        data = stream.read(context.limits.document + 1)
    if len(data) > context.limits.document:
        raise too_large_document(file.name, context.limits)
    document = strict_json.loads(data, file.name)
    if json_matrix.matches(document):
        return json_matrix.from_object(document, context.options, context.limits)
    if isinstance(document, list) and _all_objects(document):
        return _records(document, file.name, context)
    if isinstance(document, dict):
        if columns.long(list(document), context.options) is not None:
            return _records([document], file.name, context)
        if _all_objects(document.values()):
            return _nested(document, context)
    detail = (
        f"{file.name} is JSON, but neither a matrix (models, examples, scores), nor a list of records, nor "
        "scores nested by model or example; send one of these"
    )
    raise refuse(detail, "json_shape", [(file.name, f"begins with {listed(sorted(Head(file, data).keys))}")])


def _all_objects(items: Collection[object]) -> bool:
    return bool(items) and all(isinstance(item, dict) for item in items)


def _records(records: list[Record], name: str, context: Context) -> Grid | Iterable[Block]:
    names = list(dict.fromkeys(key for record in records for key in record))
    roles = columns.long(names, context.options)
    if roles is not None:
        table = long_table.columns_of(enumerate(records), roles.used)
        return long_table.blocks(table, roles, name, lambda i: f"{name}: /{i}", context)
    found = columns.wide(names, context.options)
    text = {str(k): _column(records, key) for k, key in enumerate(names)}
    if found.ids is not None:
        settled = ids.checked_ids(
            [r.get(names[found.ids]) for r in records], found.row_kind, _place, context.limits
        )
        text[str(found.ids)] = pa.array(settled, pa.string())
    return wide_table.grid(pa.table(text), names, found, _place, context.options, context.limits)


def _place(i: int) -> str:
    return f"/{i}"


def _column(records: list[Record], key: str) -> pa.Array:
    return pa.array([scores.text(record.get(key)) for record in records], pa.string()).dictionary_encode()


def _nested(document: Mapping[str, Mapping[str, object]], context: Context) -> Grid:
    """{outer: {inner: score}}; `orientation` says whether the outer keys are models."""
    inner = list(dict.fromkeys(key for row in document.values() for key in row))
    if context.options.orientation is None:
        detail = (
            f"the outer keys are {listed(list(document), 3)} and the inner ones {listed(inner, 3)}; send "
            "orientation=models_as_rows if the outer keys are models, else orientation=models_as_columns"
        )
        raise refuse(detail, "orientation")
    names = ["outer", *inner]
    text = {"0": pa.array(list(document), pa.string())}
    for k, key in enumerate(inner, start=1):
        cells = [scores.text(row.get(key)) for row in document.values()]
        text[str(k)] = pa.array(cells, pa.string()).dictionary_encode()
    models_outside = context.options.orientation == "models_as_rows"
    roles = columns.WideColumns(0, True, "model" if models_outside else "example", (), None, None)
    outer = list(document)
    return wide_table.grid(
        pa.table(text), names, roles, lambda i: f"/{outer[i]}", context.options, context.limits
    )
