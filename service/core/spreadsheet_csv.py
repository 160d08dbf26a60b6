"""CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

Row = Sequence[object]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def to_csv(rows: Iterable[Row]) -> str:
    """Rows as CSV; text that a spreadsheet would read as a formula gets a leading apostrophe."""
    file = io.StringIO()
    csv.writer(file).writerows([_cell(value) for value in row] for row in rows)
    return file.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return repr(value) if isinstance(value, float) else value
