"""Assembles blocks into a grid, for all formats.

Nothing is overwritten: two answers for the same model, example and repeat are an error that names both
places. A cell is the mean over repeats; an absent cell counts as not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from service.core.errors import InvalidUpload, TooLarge
from service.engine.data.matrix import Scores
from service.ingest import attempts, claims, ids, matching, scores
from service.ingest.context import Context
from service.ingest.options import Options
from service.ingest.records import Block, Floats, Place
from service.ingest.refusals import listed, quoted, refuse
from service.ingest.upload import (
    CELL_STATES,
    ERRORED,
    NOT_RUN,
    SCORED,
    STATES,
    UNSCORED,
    Grid,
    ToolIdentifiers,
)

_MOST_REPEATS = 65_535


def assemble(blocks: Iterable[Block], tool: str, context: Context) -> Grid:
    """Assemble all blocks into one grid.

    Parameters
    ----------
    tool : str
        Name of the format, for `ToolIdentifiers`.

    Raises
    ------
    InvalidUpload
        An answer occurs twice, a score is out of range, or logs contradict each other about an example.
    TooLarge
        There are more models, examples or cells than the limits allow.
    """
    columns = _Columns()
    parts: dict[str, list[_Part]] = {}
    for block in blocks:
        if block.model not in parts:
            ids.check(block.model, "model", block.source, context.limits)
        parts.setdefault(block.model, []).append(_part(block, columns, context))
        _check_size(len(parts), len(columns.index), context)
    if not parts:
        raise _nothing(context)
    grid = _grid(parts, columns, context)
    claims.compare(grid, {model: [p.claim for p in ps] for model, ps in parts.items()}, context)
    if len({part.source for ps in parts.values() for part in ps}) > 1:
        matching.check_versions(grid, _known(parts, grid), context)
    grid.native = columns.native(tool)
    grid.warnings = context.warnings
    return grid


def _nothing(context: Context) -> InvalidUpload:
    if context.tasks and context.options.subtask is not None:
        tasks = listed(sorted(set(context.tasks)), 20)
        detail = (
            f"no log has the task or group {quoted(context.options.subtask)} that subtask= names; the tasks "
            f"are {tasks}"
        )
        return refuse(detail, "no_such_task", [("/subtask", quoted(context.options.subtask))])
    return refuse("the upload holds no answers; send the log with one record per example", "no_rows")


@dataclass(slots=True, eq=False)
class _Part:
    """The answers of a block by column, in compact arrays."""

    source: str
    place: Place
    columns: NDArray[np.int32]
    values: Scores
    states: NDArray[np.uint8]
    outcomes: NDArray[np.uint8]
    repeats: NDArray[np.integer] | None
    unordered: bool
    counts: NDArray[np.int64] | None
    confidences: NDArray[np.float32] | None
    claim: claims.LogTotals

    @property
    def n_answers(self) -> float:
        """How many answers it holds."""
        return float(len(self.columns) if self.counts is None else self.counts.sum())

    @property
    def is_plain(self) -> bool:
        """Whether its answers are single outcomes of 0 or 1."""
        return self.values.dtype == np.uint8 and self.counts is self.repeats is None


@dataclass(slots=True, eq=False)
class _Columns:
    """All examples so far, in order, with what the blocks say about them."""

    index: dict[str, int] = field(default_factory=dict)
    subtasks: list[str | None] = field(default_factory=list)
    hashes: list[str | None] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    natives: list[str | None] = field(default_factory=list)
    _last: tuple[Sequence[str], NDArray[np.int64]] = ((), np.zeros(0, dtype=np.int64))

    def of(self, block: Block, context: Context) -> NDArray[np.int64]:
        """The column of each name in the block; add columns for new names."""
        if block.names is self._last[0] and block.hashes is None:
            return self._last[1]
        before, index = len(self.index), self.index
        columns = np.array([index.setdefault(name, len(index)) for name in block.names], dtype=np.int64)
        fresh = np.unique(columns[columns >= before], return_index=True)[1]
        new = np.flatnonzero(columns >= before)[fresh]
        for i in new.tolist():
            self._add(block, i, context)
        columns = matching.realigned(block, columns, self.hashes, context)
        matching.check_content(block, columns, self.hashes, self.subtasks, context)
        self._learn(block, columns)
        self._last = block.names, columns
        return columns

    def _add(self, block: Block, i: int, context: Context) -> None:
        ids.check(block.names[i], "example", lambda: _place(block, i), context.limits)
        subtasks = block.subtasks
        self.subtasks.append(subtasks if subtasks is None or isinstance(subtasks, str) else subtasks[i])
        self.hashes.append(None)
        self.tasks.append(block.task if block.runnable is None else block.runnable)
        self.natives.append(None if block.native is None else block.native[i])

    def _learn(self, block: Block, columns: NDArray[np.int64]) -> None:
        """Take the content of examples that logs before did not have."""
        if block.hashes is not None:
            for column, found in zip(columns.tolist(), block.hashes, strict=True):
                self.hashes[column] = self.hashes[column] or found or None

    def native(self, tool: str) -> ToolIdentifiers | None:
        """The tool's own ids, if it gave one for each example."""
        known = [name for name in self.natives if name is not None]
        if len(known) < len(self.natives):
            return None
        return ToolIdentifiers(tool, tuple(self.tasks), tuple(known))


def _place(block: Block, i: int) -> str:
    """The place of name number i in the block."""
    if block.codes is None:
        return block.place(i)
    answers = np.flatnonzero(block.codes == i)
    return block.place(int(answers[0])) if answers.size else block.source


def _part(block: Block, columns: _Columns, context: Context) -> _Part:
    where = scores.Where(
        place=lambda _, j: block.place(j),
        model=lambda *_: block.model,
        example=lambda _, j: block.names[j if block.codes is None else int(block.codes[j])],
    )
    sent = np.where(np.isnan(block.values), UNSCORED, SCORED) if block.states is None else block.states
    options = Options() if block.scaled else context.options
    found = scores.from_numbers(block.values[None], (sent != SCORED)[None], options, where)
    outcomes = np.zeros(len(sent), dtype=np.uint8) if found.states is None else found.states[0]
    outcomes = np.where(sent != SCORED, sent, outcomes).astype(np.uint8)
    values = np.where(outcomes == SCORED, found.values[0], 0)
    states = outcomes if outcomes.max(initial=0) < len(STATES) else CELL_STATES[outcomes]
    at = columns.of(block, context)
    trust = block.confidences
    return _Part(
        source=block.source,
        place=block.place,
        columns=(at if block.codes is None else at[block.codes]).astype(np.int32),
        values=values.astype(np.uint8) if np.isin(values, (0, 1)).all() else values,
        states=states,
        outcomes=outcomes,
        repeats=block.repeats,
        unordered=block.unordered,
        counts=block.counts,
        confidences=None if trust is None else trust.astype(np.float32),
        claim=claims.of(block, values, states, options.scale),
    )


def _known(parts: dict[str, list[_Part]], grid: Grid) -> NDArray[np.bool_]:
    """Which examples each model's logs name, run or not, shape (M, N)."""
    known = np.zeros(grid.values.shape, dtype=bool)
    for i, ps in enumerate(parts.values()):
        for part in ps:
            known[i, part.columns] = True
    return known


def _check_size(n_models: int, n_examples: int, context: Context) -> None:
    limits = context.limits
    if n_models > limits.models or n_examples > limits.examples or n_models * n_examples > limits.cells:
        raise TooLarge(
            f"the upload has at least {n_models:,} models and {n_examples:,} examples; this service accepts "
            f"{limits.models:,} and {limits.examples:,}, and {limits.cells:,} cells; send fewer models or "
            "examples, or ask the operator to raise TASTETEST_MAX_MODELS, TASTETEST_MAX_EXAMPLES or "
            "TASTETEST_MAX_CELLS"
        )


def _grid(parts: dict[str, list[_Part]], columns: _Columns, context: Context) -> Grid:
    everything = [part for ps in parts.values() for part in ps]
    shape = (len(parts), len(columns.index))
    plain = all(part.is_plain for part in everything)
    grid = Grid(
        models=list(parts),
        examples=list(columns.index),
        values=np.zeros(shape, dtype=np.uint8) if plain else np.zeros(shape),
        states=np.full(shape, NOT_RUN, dtype=np.uint8),
        repeats=None if plain else np.zeros(shape, dtype=np.uint16),
        hashes=columns.hashes if any(columns.hashes) else None,
    )
    trusted = _trusted(everything, context)
    grid.confidences = np.zeros(shape, dtype=np.float32) if trusted else None
    total = sum(part.n_answers for part in everything)
    single = grid.repeats is None or attempts.too_many(total, context)
    found = []
    for i, (model, ps) in enumerate(parts.items()):
        row = _Row.of(model, ps, grid.examples, trusted)
        _fill(grid, i, row)
        if not single:
            found.append(attempts.of_row(row.answers, len(grid.examples)))
    grid.attempts = attempts.of_models(found)
    grid.subtasks = _subtasks(columns)
    return grid


def _subtasks(columns: _Columns) -> list[str] | None:
    """The subtask of each example, if all have one and not all the same."""
    names = [name for name in columns.subtasks if name is not None]
    return names if len(names) == len(columns.index) and len(set(names)) > 1 else None


def _trusted(parts: Sequence[_Part], context: Context) -> bool:
    """Whether every scored answer has a confidence."""
    some = [p for p in parts if p.confidences is not None and np.isfinite(p.confidences).any()]
    if not some:
        return False
    gaps = [p for p in parts if p.confidences is None or np.isnan(p.confidences[p.states == SCORED]).any()]
    if gaps:
        context.warn(
            f"the confidences are ignored, because some answers have none (first in {gaps[0].source}); "
            "methods that need them cannot run on this matrix"
        )
    return not gaps


@dataclass(slots=True, eq=False)
class _Row:
    """All answers of one model, concatenated."""

    answers: attempts.Answered
    columns: NDArray[np.int32]
    states: NDArray[np.uint8]
    values: Scores
    counts: Floats
    confidences: NDArray[np.float32] | None

    @classmethod
    def of(cls, model: str, parts: Sequence[_Part], examples: Sequence[str], trusted: bool) -> _Row:
        """Join the parts, after checking that no answer occurs twice."""
        columns = np.concatenate([part.columns for part in parts])
        repeats = np.concatenate([_or_default(part.repeats, part, 0) for part in parts])
        _check_once(model, parts, examples, columns, repeats)
        counts = np.concatenate([_or_default(part.counts, part, 1) for part in parts])
        values = np.concatenate([part.values for part in parts])
        outcomes = np.concatenate([part.outcomes for part in parts])
        ordered = not any(part.unordered for part in parts)
        return cls(
            answers=attempts.Answered(columns, repeats, values, outcomes, counts, ordered),
            columns=columns,
            states=np.concatenate([part.states for part in parts]),
            values=values,
            counts=counts,
            confidences=np.concatenate([c for part in parts if (c := part.confidences) is not None])
            if trusted
            else None,
        )

    def sums(self, weights: NDArray[np.generic], width: int) -> Floats:
        """Sums by column of the weights of the scored answers."""
        scored = self.states == SCORED
        total = np.bincount(self.columns[scored], weights[scored].astype(np.float64), minlength=width)
        return total.astype(np.float64)


def _fill(grid: Grid, i: int, row: _Row) -> None:
    """Fill one model's cells: means over repeats, and the best state of its answers."""
    width = len(grid.examples)
    counts = row.sums(row.counts, width)
    some = counts > 0
    grid.values[i, some] = row.sums(row.values * row.counts, width)[some] / counts[some]
    if grid.confidences is not None and row.confidences is not None:
        grid.confidences[i, some] = row.sums(row.confidences * row.counts, width)[some] / counts[some]
    if grid.states is not None:
        for state in (UNSCORED, ERRORED, SCORED):
            grid.states[i, row.columns[row.states == state]] = state
    if grid.repeats is not None:
        grid.repeats[i] = np.minimum(counts, _MOST_REPEATS).astype(np.uint16)


def _or_default(values: NDArray[np.generic] | None, part: _Part, default: float) -> Floats:
    return np.full(len(part.columns), float(default)) if values is None else values.astype(np.float64)


def _check_once(
    model: str, parts: Sequence[_Part], examples: Sequence[str], columns: NDArray[np.int32], repeats: Floats
) -> None:
    """Refuse two answers to one example in one repeat; name both places."""
    if np.bincount(columns).max(initial=0) <= 1:
        return
    order = attempts.by_attempt(columns, repeats)
    again = np.flatnonzero((np.diff(columns[order]) == 0) & (np.diff(repeats[order]) == 0))
    if not again.size:
        return
    pair = again[np.argmin(order[again])]
    answers = [(part, i) for part in parts for i in range(len(part.columns))]
    (a, i), (b, j) = answers[order[pair]], answers[order[pair + 1]]
    differ = "different scores" if a.values[i] != b.values[j] else "the same score"
    name, one, two = quoted(examples[columns[order[pair]]]), a.place(i), b.place(j)
    detail = (
        f"model {quoted(model)} answers example {name} twice, with {differ}: {one} and {two} "
        f"({again.size} such answers); keep one of them, or number the repeats"
    )
    raise refuse(detail, "duplicate_answer", [(one, name), (two, name)])
