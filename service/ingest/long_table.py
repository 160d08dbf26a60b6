"""Reads a long table (one score per row) into blocks, one per model."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from service.ingest import metric_choice, scores
from service.ingest.columns import LongColumns
from service.ingest.context import Context
from service.ingest.records import Block, Place
from service.ingest.refusals import listed, quoted, refuse
from service.ingest.upload import OUTCOMES, SCORED

Codes = NDArray[np.int64]


class DictionaryColumn(NamedTuple):
    """A text column: its distinct values and each row's index into them; −1 for a missing value."""

    words: list[str]
    codes: Codes


class DictionaryColumnBuilder:
    """Builds a `DictionaryColumn` value by value."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._codes = array("q")

    def add(self, word: str | None) -> None:
        """Append the next row's value."""
        self._codes.append(-1 if word is None else self._index.setdefault(word, len(self._index)))

    def done(self) -> DictionaryColumn:
        """The column."""
        return DictionaryColumn(list(self._index), np.array(self._codes, dtype=np.int64))


def dictionary_column(column: pa.ChunkedArray) -> DictionaryColumn:
    """An Arrow column as text; NaN, which is how pandas writes a missing number, counts as missing."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    merged = column.unify_dictionaries()
    if not merged.num_chunks:
        return DictionaryColumn([], np.zeros(0, dtype=np.int64))
    values = merged.chunk(0).dictionary
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    words = values.cast(pa.string()).to_pylist()
    codes = np.concatenate([pc.fill_null(chunk.indices, -1).to_numpy() for chunk in merged.chunks])
    none = np.array([word is None for word in words], dtype=bool)
    codes = np.where(np.append(none, False)[codes], -1, codes) if none.any() else codes
    return DictionaryColumn([word or "" for word in words], codes.astype(np.int64))


def blocks(
    table: Mapping[str, DictionaryColumn], roles: LongColumns, source: str, place: Place, context: Context
) -> Iterator[Block]:
    """The answers of each model, as one block per model.

    Parameters
    ----------
    table : mapping of str to DictionaryColumn
        The columns `roles` names.
    place : callable
        Describes the place of a row.

    Raises
    ------
    InvalidUpload
        A row has no model or no example, or its score is not a score.
    """
    rows = _chosen_rows(table, roles, source, context)
    if not len(rows):
        raise refuse(f"{source} has no rows with scores; add one row per answer", "no_rows")
    part = {name: DictionaryColumn(column.words, column.codes[rows]) for name, column in table.items()}

    def at(i: int) -> str:
        return place(int(rows[i]))

    models = _models(part, roles, rows, at, context)
    names, codes, subtasks = _examples(part, roles, at)
    values, states = _scores(part, roles, models, DictionaryColumn(names, codes), at, context)
    if roles.outcome is not None:
        states = _outcomes(part[roles.outcome], states, at)
    whole = Block("", source, names, values, at, codes, states, subtasks=subtasks, scaled=True)
    whole.repeats = None if roles.repeat is None else _attempts(part[roles.repeat])
    if roles.count is not None:
        whole.counts = np.maximum(_numbers(part[roles.count], 1, "count", at), 1).astype(np.int64)
    if roles.confidence is not None:
        whole.confidences = _numbers(part[roles.confidence], np.nan, "confidence", at)
    yield from _by_model(whole, models)


def _attempts(column: DictionaryColumn) -> NDArray[np.integer]:
    """Which attempt each row is: by number where all are numbers, else as text; rows without come first."""
    numbers = [_number(word) for word in column.words]
    keys: list[Any] = list(column.words) if np.isnan(numbers).any() else numbers
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    # As small as fits: there is one of these numbers for each answer of the upload.
    every = np.append(ranks, -1)
    if len(keys) <= np.iinfo(np.int16).max:
        return every.astype(np.int16)[column.codes]
    return every[column.codes]


def _by_model(whole: Block, models: DictionaryColumn) -> Iterator[Block]:
    small = len(models.words) <= np.iinfo(np.uint16).max
    order = np.argsort(models.codes.astype(np.uint16) if small else models.codes, kind="stable")
    ends = np.cumsum(np.bincount(models.codes, minlength=len(models.words)))
    for model, mine in zip(models.words, np.split(order, ends[:-1]), strict=True):
        if len(mine):
            yield _taken(whole, model, mine)


def _taken(whole: Block, model: str, mine: Codes) -> Block:
    return replace(
        whole,
        model=model,
        values=whole.values[mine],
        place=lambda i: whole.place(int(mine[i])),
        codes=None if whole.codes is None else whole.codes[mine],
        states=None if whole.states is None else whole.states[mine],
        repeats=None if whole.repeats is None else whole.repeats[mine],
        counts=None if whole.counts is None else whole.counts[mine],
        confidences=None if whole.confidences is None else whole.confidences[mine],
    )


def _chosen_rows(
    table: Mapping[str, DictionaryColumn], roles: LongColumns, source: str, context: Context
) -> Codes:
    """Rows of the chosen metric and filter."""
    rows = np.arange(len(table[roles.example].codes))
    options = context.options
    for kind, column, wanted in (
        ("metric", roles.metric, options.metric),
        ("filter", roles.filter, options.filter),
    ):
        if column is not None and column != roles.score:
            words, codes = table[column]
            present = [words[k] for k in np.unique(codes[rows]).tolist() if k >= 0]
            if present:
                rows = rows[
                    codes[rows] == words.index(metric_choice.choose_one(present, wanted, kind, source))
                ]
    return rows


def _models(
    table: Mapping[str, DictionaryColumn], roles: LongColumns, rows: Codes, at: Place, context: Context
) -> DictionaryColumn:
    if roles.model is None:
        return DictionaryColumn([context.options.model or ""], np.zeros(len(rows), dtype=np.int64))
    return _required(table[roles.model], "model", at)


def _required(column: DictionaryColumn, kind: str, at: Place) -> DictionaryColumn:
    empty = np.flatnonzero(column.codes < 0)
    if empty.size:
        place = at(int(empty[0]))
        raise refuse(
            f"{place}: the {kind} has no name; give every {kind} a name", "empty_id", [(place, "empty")]
        )
    return column


def _examples(
    table: Mapping[str, DictionaryColumn], roles: LongColumns, at: Place
) -> tuple[list[str], Codes, list[str] | None]:
    """Names of the examples, prefixed by their benchmark if there are several, and their subtasks."""
    words, codes = _used(_required(table[roles.example], "example", at))
    group = None
    if roles.benchmark is not None and len(np.unique(table[roles.benchmark].codes)) > 1:
        group = _required(table[roles.benchmark], "benchmark", at)
        pairs, codes = np.unique(group.codes * len(words) + codes, return_inverse=True)
        words = [f"{group.words[p // len(words)]}/{words[p % len(words)]}" for p in pairs.tolist()]
    if roles.subtask is not None:
        group = _required(table[roles.subtask], "subtask", at)
    return words, codes, None if group is None else _subtasks(words, codes, group, at)


def _used(column: DictionaryColumn) -> DictionaryColumn:
    """The column without values that no row has."""
    used = np.bincount(column.codes, minlength=len(column.words)) > 0
    if used.all():
        return column
    return DictionaryColumn(
        [column.words[k] for k in np.flatnonzero(used).tolist()], (np.cumsum(used) - 1)[column.codes]
    )


def _subtasks(names: list[str], codes: Codes, group: DictionaryColumn, at: Place) -> list[str]:
    """The subtask of each example; refuse an example with two."""
    first = np.full(len(names), -1, dtype=np.int64)
    first[codes[::-1]] = group.codes[::-1]
    clash = np.flatnonzero(first[codes] != group.codes)
    if clash.size:
        i = int(clash[0])
        name, one, other = names[codes[i]], group.words[first[codes[i]]], group.words[group.codes[i]]
        detail = (
            f"{at(i)}: example {quoted(name)} has the subtask {quoted(other)} here and {quoted(one)} in an "
            "earlier row"
        )
        raise refuse(f"{detail}; give each example one subtask", "subtasks", [(at(i), quoted(other))])
    return [group.words[k] if k >= 0 else "" for k in first.tolist()]


def _scores(
    table: Mapping[str, DictionaryColumn],
    roles: LongColumns,
    models: DictionaryColumn,
    examples: DictionaryColumn,
    at: Place,
    context: Context,
) -> tuple[NDArray[np.float64], NDArray[np.uint8] | None]:
    where = scores.Where(
        place=lambda _, j: at(j),
        model=lambda _, j: models.words[models.codes[j]],
        example=lambda _, j: examples.words[examples.codes[j]],
    )
    if roles.correct is not None and roles.count is not None and roles.score != "score":
        right = _numbers(table[roles.correct], np.nan, "correct", at)
        share = right / np.maximum(_numbers(table[roles.count], 1, "count", at), 1)
        cells = scores.from_numbers(share[None], np.isnan(share)[None], context.options, where)
    else:
        words, codes = table[roles.score]
        missing = codes < 0
        cells = scores.from_words(
            words or [""], np.where(missing, 0, codes)[None], missing[None], context.options, where
        )
    states = None if cells.states is None else cells.states[0]
    return cells.values[0].astype(np.float64), states


def _outcomes(column: DictionaryColumn, states: NDArray[np.uint8] | None, at: Place) -> NDArray[np.uint8]:
    """How each row's attempt ended, where the table says; a row without a score is not scored."""
    known = {name: code for code, name in enumerate(OUTCOMES)}
    words = [word.strip().lower().replace(" ", "_") for word in column.words]
    for k in np.unique(column.codes[column.codes >= 0]).tolist():
        if words[k] not in known:
            place = at(int(np.flatnonzero(column.codes == k)[0]))
            raise refuse(
                f"{place}: the outcome {quoted(column.words[k])} is not one of {listed(OUTCOMES, 10)}",
                "outcome",
                [(place, quoted(column.words[k]))],
            )
    given = np.array([*(known.get(word, SCORED) for word in words), SCORED], dtype=np.uint8)[column.codes]
    return given if states is None else np.where(given == SCORED, states, given).astype(np.uint8)


def _numbers(column: DictionaryColumn, empty: float, what: str, at: Place) -> NDArray[np.float64]:
    """Numbers of a column that does not hold scores."""
    parsed = [_number(word) for word in column.words]
    values = np.array([*parsed, empty], dtype=np.float64)[column.codes]
    bad = np.isnan(np.array([*parsed, 0.0])[column.codes])
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        word = column.words[column.codes[i]]
        raise refuse(f"{at(i)}: the {what} {quoted(word)} is not a number", what, [(at(i), quoted(word))])
    return values


def _number(word: str) -> float:
    return float(word) if scores.is_number(word) else float("nan")


def columns_of(
    records: Iterable[tuple[int, Mapping[str, object]]], used: list[str]
) -> dict[str, DictionaryColumn]:
    """The named fields of records, as text columns."""
    coders = {name: DictionaryColumnBuilder() for name in used}
    for _, record in records:
        for name, coder in coders.items():
            coder.add(scores.text(record.get(name)))
    return {name: coder.done() for name, coder in coders.items()}
