"""Reads Parquet tables, wide or long, as pandas, polars and Arrow write them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from service.core.errors import InvalidUpload, TooLarge
from service.ingest import arrays, columns, long_table, wide_table
from service.ingest.context import Context
from service.ingest.detect_format import PARQUET, UNREADABLE, Head
from service.ingest.options import Limits
from service.ingest.records import Block
from service.ingest.refusals import quoted, refuse
from service.ingest.source import File
from service.ingest.upload import Grid

_BATCH = 1_000
_EMBEDDINGS = ("embedding", "embeddings")

Vectors = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_WORDS = pa.dictionary(pa.int32(), pa.string())


def matches(head: Head) -> bool:
    """Whether it begins with the magic bytes."""
    return head.data.startswith(PARQUET)


def read(file: File, context: Context) -> Grid | Iterable[Block]:
    """The table in a Parquet file; a column of lists called `embedding` holds one vector per example.

    Raises
    ------
    InvalidUpload
        It is broken, or its cells are not scores.
    """
    with opened(file, context.limits) as parquet:
        names = parquet.schema_arrow.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise refuse(f"{file.name} has the column {quoted(twice)} twice; keep one", "duplicate_column")
        roles = columns.long(names, context.options)
        if roles is None:
            return _wide(whole(parquet, file, names), file, context)
    with opened(file, context.limits, roles.used) as parquet:
        return _long(whole(parquet, file, roles.used), roles, file, context)


def _long(table: pa.Table, roles: columns.LongColumns, file: File, context: Context) -> Iterable[Block]:
    coded = {}
    for name in roles.used:
        column = table.column(name)
        if name in (roles.model, roles.example):
            column = _whole_numbers(column, name, context)
        try:
            coded[name] = long_table.dictionary_column(column)
        except pa.ArrowException:
            raise _no_text(name, column) from None
    return long_table.blocks(coded, roles, file.name, lambda i: f"{file.name}, row {i + 1}", context)


@contextlib.contextmanager
def opened(file: File, limits: Limits, repeating: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
    """Open the file, after checking its metadata against the limits.

    Parameters
    ----------
    repeating : sequence of str
        Columns with few distinct texts, which are read as dictionaries.
    """
    with file.seekable() as stream:
        try:
            parquet = pq.ParquetFile(stream, read_dictionary=list(repeating))
        except UNREADABLE as error:
            raise refuse(f"{file.name} is not a Parquet file: {error}; write it again", "parquet") from None
        meta = parquet.metadata
        size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
        if size > limits.bytes or meta.num_rows > limits.cells:
            raise TooLarge(
                f"{file.name} has {size:,} bytes in {meta.num_rows:,} rows according to its metadata, which "
                "is more than this service reads"
            )
        yield parquet


def whole(parquet: pq.ParquetFile, file: File, names: Sequence[str]) -> pa.Table:
    """Read these columns of all row groups."""
    try:
        table = parquet.read(columns=list(names))
        table.validate(full=True)
    except UNREADABLE as error:
        raise refuse(f"{file.name} is broken: {error}; write it again", "parquet") from None
    return table


def rows(parquet: pq.ParquetFile, file: File, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of these columns, with one batch in memory at a time."""
    try:
        for batch in parquet.iter_batches(_BATCH, columns=list(names)):
            yield from batch.to_pylist()
    except UNREADABLE as error:
        raise refuse(f"{file.name} is broken: {error}; write it again", "parquet") from None


def _wide(table: pa.Table, file: File, context: Context) -> Grid:
    table, embeddings = _without_embeddings(table)
    names = table.column_names
    roles = columns.wide(names, context.options)
    if len(names) * table.num_rows > 2 * context.limits.cells:
        raise TooLarge(f"{file.name} has {table.num_rows:,} rows of {len(names):,} columns")
    texts = {roles.ids, roles.subtask, roles.frequency, *roles.ignored}
    found = _all_scores(table, [i for i in range(len(names)) if i not in texts], names)
    fields = [
        _text(column, names[i], context) if i in texts else found[i] for i, column in enumerate(table.columns)
    ]
    plain = pa.table(fields, names=[str(i) for i in range(len(names))])
    grid = wide_table.grid(plain, names, roles, lambda i: f"row {i + 1}", context.options, context.limits)
    if embeddings is not None:
        grid.embeddings = arrays.embeddings(embeddings, len(grid.examples))
    return grid


def _without_embeddings(table: pa.Table) -> tuple[pa.Table, Vectors | None]:
    """The other columns, and the embeddings if a column holds them."""
    for name in _EMBEDDINGS:
        if name in table.column_names and _is_list(table.schema.field(name).type):
            return table.drop_columns([name]), _vectors(table.column(name))
    return table, None


def _kind(types: Collection[pa.DataType]) -> pa.DataType:
    """The type in which to read all scores."""
    if types and all(map(pa.types.is_boolean, types)):
        return pa.bool_()
    if all(pa.types.is_boolean(t) or pa.types.is_integer(t) for t in types):
        return pa.uint8()
    if all(pa.types.is_boolean(t) or pa.types.is_integer(t) or pa.types.is_floating(t) for t in types):
        return pa.float64()
    return _WORDS


def _all_scores(table: pa.Table, scores: Sequence[int], names: Sequence[str]) -> dict[int, pa.ChunkedArray]:
    """The score columns converted to one type; whole numbers above 255 become floats."""
    kind = _kind({table.field(i).type for i in scores})
    try:
        return {i: _scores(table.column(i), kind, names[i]) for i in scores}
    except OverflowError:
        return {i: _scores(table.column(i), pa.float64(), names[i]) for i in scores}


def _scores(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    if column.type == kind and kind != pa.float64():
        return column
    if pa.types.is_boolean(column.type) and kind == pa.float64():
        column = column.cast(pa.uint8())
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        cast = column.cast(pa.string() if kind == _WORDS else kind)
    except pa.ArrowException:
        if kind == pa.uint8():
            raise OverflowError from None
        detail = f"the column {quoted(name)} holds {column.type}, which are not scores; send ignore={name}"
        raise refuse(detail, "not_scores", [(f"column {quoted(name)}", str(column.type))]) from None
    if kind == _WORDS:
        return cast.dictionary_encode()
    # pandas writes a missing number as NaN.
    return pc.if_else(pc.is_nan(cast), None, cast) if kind == pa.float64() else cast


def _text(column: pa.ChunkedArray, name: str, context: Context) -> pa.ChunkedArray:
    """Ids as text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return _whole_numbers(column, name, context).cast(pa.string())
    except pa.ArrowException:
        raise _no_text(name, column) from None


def _whole_numbers(column: pa.ChunkedArray, name: str, context: Context) -> pa.ChunkedArray:
    """Ids as whole numbers again, after pandas turned integers with missing values into floats."""
    if not pa.types.is_floating(column.type) or not pc.all(pc.equal(pc.floor(column), column)).as_py():
        return column
    context.warn(f"the column {quoted(name)} holds whole numbers stored as floats; 1.0 is read as 1")
    return column.cast(pa.int64(), safe=False)


def _no_text(name: str, column: pa.ChunkedArray) -> InvalidUpload:
    detail = f"the column {quoted(name)} holds {column.type}, which is not text"
    return refuse(detail, "not_text", [(f"column {quoted(name)}", str(column.type))])


def _is_list(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)


def _vectors(column: pa.ChunkedArray) -> Vectors:
    rows = column.to_pylist()
    if len({None if row is None else len(row) for row in rows}) != 1 or rows[0] is None:
        raise refuse(
            "the embeddings have different lengths; give all examples vectors of the same length",
            "embeddings",
        )
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse("the embeddings must hold numbers only", "embeddings") from None
