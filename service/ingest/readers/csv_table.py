"""Reads CSV and TSV tables. Arrow parses the numbers; Python's csv finds the place of an error."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv as pacsv

from service.core.errors import InvalidUpload, TooLarge
from service.ingest import columns, long_table, scores, wide_table
from service.ingest.columns import WideColumns
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.options import Limits
from service.ingest.records import Block
from service.ingest.refusals import listed, refuse
from service.ingest.source import File
from service.ingest.upload import Grid

_BLOCK = 16 << 20
# What spreadsheets leave beside a table is fewer.
_MOST_BLANK = 1000
_PROSE = (".txt", ".md", ".rst", ".yaml", ".yml", ".toml", ".log", ".py", ".sh", ".html", ".xml")
_DECIMAL = re.compile(rb'[,;\t]"?\d?\.\d')
"""A cell that shows that the scores are not whole numbers."""

_WORDS = pa.dictionary(pa.int32(), pa.string())


class Header(NamedTuple):
    """The header record, its separator, and the number of lines up to its end."""

    names: list[str]
    separator: str
    lines: int


def matches(head: Head) -> bool:
    """Whether the first line has separators; in a file whose name suggests prose, the second must have as
    many.
    """
    if head.data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    first, _, rest = head.data.strip().partition(b"\n")
    counts = [first.count(mark) for mark in (b",", b"\t", b";")]
    if head.shape != "text" or not any(counts):
        return False
    second = rest.lstrip().partition(b"\n")[0]
    same = counts == [second.count(mark) for mark in (b",", b"\t", b";")]
    return same or not is_prose(head.name)


def is_prose(name: str) -> bool:
    """Whether the file's name suggests text for people, like a README."""
    return name.lower().endswith(_PROSE)


def read(file: File, context: Context) -> Grid | Iterable[Block]:
    """A table in comma-, semicolon- or tab-separated text, wide or long.

    Raises
    ------
    InvalidUpload
        The text is not a table, or its cells are not scores.
    """
    header = _header(file, context.limits)
    roles = columns.long(header.names, context.options)
    if roles is not None:
        table = _texts(file, header, context.limits)
        coded = {
            name: long_table.dictionary_column(table.column(header.names.index(name))) for name in roles.used
        }
        return long_table.blocks(coded, roles, file.name, lambda i: f"{file.name}, row {i + 2}", context)
    return _wide(file, header, context)


def _wide(file: File, header: Header, context: Context) -> Grid:
    roles = columns.wide(header.names, context.options)
    table = _table(file, header, roles, context.limits)
    if not table.num_rows:
        raise _no_rows(file)
    return wide_table.grid(
        table, header.names, roles, lambda i: f"row {i + 2}", context.options, context.limits
    )


def _texts(file: File, header: Header, limits: Limits) -> pa.Table:
    """The whole table as text."""
    everything = WideColumns(None, True, "model", (), None, None)
    try:
        with file.open() as stream:
            return _parsed(stream, header, everything, _WORDS)
    except pa.ArrowInvalid as error:
        raise _explain(file, header, limits, str(error)) from None


def _table(file: File, header: Header, roles: WideColumns, limits: Limits) -> pa.Table:
    """The table, parsed as the narrowest type that holds every score; most matrices hold only 0 and 1."""
    kinds = [(pa.float64(), "."), (_WORDS, ".")]
    if header.separator == ";":
        kinds.insert(1, (pa.float64(), ","))
    if not _DECIMAL.search(file.head(), len(",".join(header.names))):
        kinds.insert(0, (pa.uint8(), "."))
    for kind, point in kinds:
        try:
            with file.open() as stream:
                return _parsed(stream, header, roles, kind, point)
        except pa.ArrowInvalid as error:
            reason = str(error)
    raise _explain(file, header, limits, reason)


def _parsed(
    stream: io.BufferedReader, header: Header, roles: WideColumns, kind: pa.DataType, point: str = "."
) -> pa.Table:
    texts = {roles.ids, roles.subtask, roles.frequency, *roles.ignored}
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
            decimal_point=point,
        ),
    )


def _header(file: File, limits: Limits) -> Header:
    head = file.head().removeprefix(b"\xef\xbb\xbf")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise refuse(f"{file.name} is UTF-16; save it as UTF-8", "encoding", [("row 1", "UTF-16")])
    separator = _separator(head.lstrip().decode(errors="replace"))
    try:
        rows = csv.reader(_lines(file, limits), delimiter=separator)
        names = next((row for row in rows if row), [])
    except UnicodeDecodeError:
        detail = f"{file.name}: row 1 is not UTF-8; save the file as UTF-8"
        raise refuse(detail, "encoding", [("row 1", "encoding")]) from None
    except csv.Error as error:
        raise refuse(
            f"{file.name}: row 1 is not a header: {error}", "header", [("row 1", str(error))]
        ) from None
    if len(names) < 2:
        detail = (
            f"{file.name}: its header has one column, {listed(names)}; a table needs two or more, separated "
            "by commas, semicolons or tabs"
        )
        raise refuse(detail, "header", [("row 1", listed(names))])
    _check_names(names, file.name, limits)
    return Header(names, separator, rows.line_num)


def _check_names(names: list[str], file: str, limits: Limits) -> None:
    """Refuse a header that no table of results has, before anything is parsed by it."""
    if len(names) > limits.examples + limits.models:
        raise refuse(f"{file} has {len(names):,} columns", "too_many_columns")
    blank = sum(not name.strip() for name in names)
    if blank > _MOST_BLANK:
        detail = f"{file}: {blank:,} of the {len(names):,} columns have no name; name or remove them"
        raise refuse(detail, "header", [("row 1", f"{blank:,} columns without a name")])


def _separator(text: str) -> str:
    """The separator that gives the first two rows the same number of cells; else the commonest in the
    first.
    """
    first = text.partition("\n")[0]
    widths = {}
    for mark in ",\t;":
        with contextlib.suppress(csv.Error):
            rows = [
                len(row) for row in islice(filter(None, csv.reader(io.StringIO(text), delimiter=mark)), 2)
            ]
            widths[mark] = rows[0] if len(set(rows)) == 1 else 1
    best = max(widths, key=widths.__getitem__, default=",")
    return best if widths.get(best, 1) > 1 else max(",\t;", key=first.count)


def _lines(file: File, limits: Limits) -> Iterator[str]:
    with file.open() as stream:
        for number, line in enumerate(iter(lambda: stream.readline(limits.record + 1), b"")):
            if len(line) > limits.record:
                raise TooLarge(f"{file.name}: line {number + 1} has more than {limits.record:,} bytes")
            yield line.decode("utf-8-sig" if number == 0 else "utf-8")


def _explain(file: File, header: Header, limits: Limits, reason: str) -> InvalidUpload:
    """Find the first broken row by reading the rows one by one."""
    number = 0
    try:
        rows = csv.reader(_lines(file, limits), delimiter=header.separator, strict=True)
        for number, row in enumerate((row for row in rows if row), start=1):
            if len(row) != len(header.names):
                found = f"row {number} has {len(row)} cells, but the header has {len(header.names)}"
                return refuse(f"{file.name}: {found}; make them equal", "ragged", [(f"row {number}", found)])
    except UnicodeDecodeError:
        place = f"row {number + 1}"
        detail = f"{file.name}: {place} is not UTF-8; save the file as UTF-8"
        return refuse(detail, "encoding", [(place, "encoding")])
    except csv.Error as error:
        place = f"row {number + 1}"
        return refuse(f"{file.name}: {place} is broken: {error}", "broken_row", [(place, str(error))])
    if number < 2:
        return _no_rows(file)
    return refuse(f"{file.name} is not readable as CSV: {reason}", "broken_table")


def _no_rows(file: File) -> InvalidUpload:
    return refuse(f"{file.name} has a header but no rows; add the results", "no_rows")
