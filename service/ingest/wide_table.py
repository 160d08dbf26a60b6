"""Reads a wide table into a grid: ids from one column, scores from the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from service.core.errors import InvalidUpload
from service.ingest import ids, scores
from service.ingest.columns import WideColumns
from service.ingest.options import Limits, Options
from service.ingest.refusals import listed, quoted, refuse
from service.ingest.upload import Grid

RowName = Callable[[int], str]


def grid(
    table: pa.Table, names: Sequence[str], roles: WideColumns, row: RowName, options: Options, limits: Limits
) -> Grid:
    """Read a table whose cells are scores.

    Parameters
    ----------
    table : pyarrow.Table
        Scores as uint8, float64, bool or dictionary<string>; ids and words as strings.
    names : sequence of str
        Its header, which may hold duplicates that `table` cannot have.
    row : callable
        Describes the place of a row, like "row 3".

    Raises
    ------
    InvalidUpload
        An id or a score is invalid, or a column holds no scores at all.
    """
    set_aside = {roles.ids, roles.subtask, roles.frequency, *roles.ignored}
    columns = [i for i in range(len(names)) if i not in set_aside]
    other = "example" if roles.row_kind == "model" else "model"
    across = ids.checked_ids([names[i] for i in columns], other, lambda k: f"column {columns[k] + 1}", limits)
    down = _row_ids(table, names, roles, row, options, limits)
    where = _where(across, down, roles, row)
    cells = _cells(table, columns, across, where, options)
    values, states = cells
    found = Grid([], [], values, states)
    if roles.row_kind == "model":
        found.models, found.examples = down, across
        found.values, found.states = values.T, None if states is None else states.T
        _forbid_row_subtasks(roles)
    else:
        found.models, found.examples = across, down
        found.subtasks = (
            None if roles.subtask is None else _subtasks(table, names, roles.subtask, row, limits)
        )
    return found if roles.frequency is None else _expanded(found, table, roles, row)


def _row_ids(
    table: pa.Table, names: Sequence[str], roles: WideColumns, row: RowName, options: Options, limits: Limits
) -> list[str]:
    if roles.ids is None:
        return [str(i) for i in range(table.num_rows)]
    texts = _texts(table.column(roles.ids))
    if not roles.ids_certain and all(scores.in_range(text) for text in texts):
        detail = (
            f"the first column, {quoted(names[roles.ids])}, holds scores, and no column names the "
            f"{roles.row_kind}s"
            f"; add a column '{roles.row_kind}' or send ids=row_number to name each by its row number, from 0"
        )
        raise refuse(detail, "no_ids", [("header", listed(names))])
    return ids.checked_ids(texts, roles.row_kind, row, limits)


def _subtasks(table: pa.Table, names: Sequence[str], column: int, row: RowName, limits: Limits) -> list[str]:
    texts = _texts(table.column(column))
    for i, text in enumerate(texts):
        ids.check(text, "subtask", f"{row(i)}, column {quoted(names[column])}", limits)
    return texts


def _where(across: Sequence[str], down: Sequence[str], roles: WideColumns, row: RowName) -> scores.Where:
    """Cells are indexed (column, row), which is the order in memory."""
    by_row, by_column = (lambda i, j: down[j]), (lambda i, j: across[i])
    return scores.Where(
        place=lambda i, j: f"{row(j)}, column {quoted(across[i])}",
        model=by_row if roles.row_kind == "model" else by_column,
        example=by_column if roles.row_kind == "model" else by_row,
        hint="; if the column does not hold scores, name it in ignore=",
    )


def _cells(
    table: pa.Table, columns: Sequence[int], across: Sequence[str], where: scores.Where, options: Options
) -> scores.Cells:
    types = table.schema.types
    kinds = {types[i] for i in columns}
    if any(pa.types.is_dictionary(kind) for kind in kinds):
        words, codes, blank = _words(table, columns)
        _require_scores(words, codes, blank, across, options)
        return scores.from_words(words, codes, blank, options, where)
    values, missing = _numbers(table, columns)
    return scores.from_numbers(values, missing, options, where)


def _numbers(table: pa.Table, columns: Sequence[int]) -> tuple[NDArray[np.generic], NDArray[np.bool_] | None]:
    types = table.schema.types
    kinds = {str(types[i]) for i in columns}
    dtype = {"uint8": np.uint8, "bool": np.bool_}.get(kinds.pop() if len(kinds) == 1 else "", np.float64)
    if dtype == np.uint8 and table.num_rows and not any(table.column(i).null_count for i in columns):
        return _whole_numbers(table.select(list(columns))), None
    values = np.empty((len(columns), table.num_rows), dtype=dtype)
    blanks: dict[int, NDArray[np.bool_]] = {}
    for k, i in enumerate(columns):
        column = table.column(i)
        if column.null_count:
            blanks[k] = column.is_null().to_numpy()
            column = column.fill_null(0)
        values[k] = column.to_numpy()
    if not blanks:
        return values, None
    missing = np.zeros(values.shape, dtype=bool)
    missing[list(blanks)] = list(blanks.values())
    return values, missing


def _whole_numbers(table: pa.Table) -> NDArray[np.uint8]:
    """Columns of bytes as the rows of an array."""
    parts = [batch.to_tensor(row_major=False).to_numpy().T for batch in table.to_batches()]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _words(table: pa.Table, columns: Sequence[int]) -> tuple[list[str], NDArray[np.int32], NDArray[np.bool_]]:
    """Distinct texts of all score columns, each cell's index into them, and which cells are null."""
    chunks = [chunk for i in columns for chunk in table.column(i).chunks]
    merged = pa.chunked_array(chunks, type=pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
    words = merged.chunk(0).dictionary.to_pylist() if merged.num_chunks else []
    codes = pc.fill_null(pa.chunked_array([c.indices for c in merged.chunks], type=pa.int32()), -1).to_numpy()
    codes = codes.reshape(len(columns), table.num_rows).astype(np.int32)
    missing = codes < 0
    codes[missing] = 0
    return words or [""], codes, missing


def _require_scores(
    words: Sequence[str],
    codes: NDArray[np.int32],
    missing: NDArray[np.bool_],
    across: Sequence[str],
    options: Options,
) -> None:
    """Refuse columns without a single score; name them all at once."""
    good = np.array([scores.is_score(w, options) for w in words], dtype=bool)
    has = np.any(good[codes] & ~missing, axis=1).tolist()
    blank = np.all(missing, axis=1).tolist()
    without_scores = [
        name for name, some, none in zip(across, has, blank, strict=True) if not some and not none
    ]
    if without_scores and any(has):
        unknown = sorted(
            {words[k] for k in np.unique(codes[[not some for some in has]]).tolist()} - set(scores.EMPTY)
        )
        detail = (
            f"columns {listed(without_scores)} hold words that are not scores ({listed(unknown, 3)}); leave "
            "them out, send "
            f"ignore={','.join(without_scores[:5])}, or subtask=<column> for the one that names each "
            "example's subtask"
            f"; if these words are scores, send mapping={scores.suggest_mapping(unknown)}"
        )
        raise refuse(
            detail,
            "not_scores",
            [(f"column {quoted(name)}", "no score in it") for name in without_scores[:20]],
        )


def _texts(column: pa.ChunkedArray) -> list[str]:
    return ["" if text is None else text for text in column.cast(pa.string()).to_pylist()]


def _forbid_row_subtasks(roles: WideColumns) -> None:
    if roles.subtask is not None:
        raise refuse(
            "subtask= names a column, but the rows of this table are models; send the table with examples "
            "as rows, or JSON with a list of subtasks",
            "subtask",
        )


def _expanded(found: Grid, table: pa.Table, roles: WideColumns, row: RowName) -> Grid:
    """Expand a frequency table: each row becomes as many models as its count says."""
    if roles.row_kind != "model" or roles.frequency is None:
        raise refuse("frequency= needs a table whose rows are models; leave it out", "frequency")
    counts = [_count(text, row(i)) for i, text in enumerate(_texts(table.column(roles.frequency)))]
    order = np.repeat(np.arange(len(counts)), counts)
    found.models = [f"{found.models[i]}#{k}" for i, n in enumerate(counts) for k in range(1, n + 1)]
    found.values = found.values[order]
    found.states = None if found.states is None else found.states[order]
    found.warnings.append(
        f"{len(counts)} response patterns were expanded into {len(order)} models, named pattern#k"
    )
    return found


def _count(text: str, place: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 7:
        return int(text)
    problem: InvalidUpload = refuse(
        f"{place}: the frequency {quoted(text)} is not a whole number", "frequency", [(place, quoted(text))]
    )
    raise problem
