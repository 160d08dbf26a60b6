"""CSV and TSV, wide: Arrow reads the numbers; Python's csv only says where the text is broken."""

from __future__ import annotations

import csv
import io
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.csv as pacsv

from service.errors import InvalidUpload
from service.ingest import columns, scores, wide
from service.ingest.columns import Wide
from service.ingest.faults import listed, refuse
from service.ingest.options import Limits, Options
from service.ingest.source import File
from service.ingest.upload import Grid

_BLOCK = 16 << 20
_WORDS = pa.dictionary(pa.int32(), pa.string())


class Header(NamedTuple):
    """The first record, what separates its fields, and how many lines it and blank ones take."""

    names: list[str]
    separator: str
    lines: int


def read(file: File, options: Options, limits: Limits) -> Grid:
    """A wide table in comma-, semicolon- or tab-separated text.

    Raises
    ------
    InvalidUpload
        The text is no table, or its cells are no scores.
    """
    header = _header(file, limits)
    roles = columns.wide(header.names, options)
    if len(header.names) > limits.examples + limits.models:
        raise refuse(f"{file.name} has {len(header.names):,} columns", "too_many_columns")
    table = _table(file, header, roles, limits)
    if not table.num_rows:
        raise _no_rows(file)
    return wide.grid(table, header.names, roles, lambda i: f"row {i + 2}", options, limits)


def _table(file: File, header: Header, roles: Wide, limits: Limits) -> pa.Table:
    """The narrowest type that holds every score: most matrices are 0 and 1."""
    for kind in (pa.uint8(), pa.float64(), _WORDS):
        try:
            return _parsed(file.open(), header, roles, kind)
        except pa.ArrowInvalid as error:
            reason = str(error)
    raise _explain(file, header, limits, reason)


def _parsed(stream: BinaryIO, header: Header, roles: Wide, kind: pa.DataType) -> pa.Table:
    texts = {roles.ids, roles.subtask, roles.frequency, *roles.aside}
    keys = [str(i) for i in range(len(header.names))]
    return pacsv.read_csv(
        stream,
        read_options=pacsv.ReadOptions(
            block_size=max(_BLOCK, 8 * sum(map(len, header.names))), column_names=keys, skip_rows=header.lines
        ),
        parse_options=pacsv.ParseOptions(delimiter=header.separator, newlines_in_values=True),
        convert_options=pacsv.ConvertOptions(
            column_types={key: pa.string() if i in texts else kind for i, key in enumerate(keys)},
            null_values=list(scores.EMPTY),
            strings_can_be_null=kind == _WORDS,
        ),
    )


def _header(file: File, limits: Limits) -> Header:
    head = file.open().read(limits.record)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise refuse(f"{file.name} is UTF-16; save it as UTF-8", "encoding", [("row 1", "UTF-16")])
    try:
        text = io.TextIOWrapper(file.open(), encoding="utf-8-sig", errors="surrogateescape", newline="")
        line = next((line for line in text if line.strip()), "")
        separator = max(",\t;", key=line.count)
        text.seek(0)
        rows = csv.reader(text, delimiter=separator)
        names = next((row for row in rows if row), [])
        "".join(names).encode()
    except (UnicodeError, csv.Error):
        detail = f"{file.name}: row 1 is no header in UTF-8; save the file as UTF-8"
        raise refuse(detail, "encoding", [("row 1", "encoding")]) from None
    if len(names) < 2:
        raise refuse(
            f"{file.name}: its header has one column, {listed(names)}; a table has two or more", "header"
        )
    return Header(names, separator, rows.line_num)


def _explain(file: File, header: Header, limits: Limits, reason: str) -> InvalidUpload:
    """The first row that is broken, found by reading them one by one."""
    number = 0
    try:
        rows = csv.reader(
            io.TextIOWrapper(file.open(), encoding="utf-8", newline=""),
            delimiter=header.separator,
            strict=True,
        )
        for number, row in enumerate((row for row in rows if row), start=1):
            if len(row) != len(header.names):
                found = f"row {number} has {len(row)} cells and the header {len(header.names)}"
                return refuse(f"{file.name}: {found}; make them equal", "ragged", [(f"row {number}", found)])
    except UnicodeDecodeError:
        place = f"row {_row_of_bad_bytes(file)}"
        return refuse(
            f"{file.name}: {place} is not UTF-8; save the file as UTF-8", "encoding", [(place, "encoding")]
        )
    except csv.Error as error:
        place = f"row {number + 1}"
        return refuse(f"{file.name}: {place} is broken: {error}", "broken_row", [(place, str(error))])
    if number < 2:
        return _no_rows(file)
    return refuse(f"{file.name} is not readable as CSV: {reason}", "broken_table")


def _no_rows(file: File) -> InvalidUpload:
    return refuse(f"{file.name} has a header and no rows; add the results", "no_rows")


def _row_of_bad_bytes(file: File) -> int:
    for number, line in enumerate(file.open(), start=1):
        try:
            line.decode()
        except UnicodeDecodeError:
            return number
    return 1
