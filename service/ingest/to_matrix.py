"""Turns a grid into an upload: checks limits, treats missing cells, builds the matrix and the report."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from service.core.errors import FieldError, TooLarge
from service.engine.data.attempts import ModelAttempts
from service.engine.data.matrix import Matrix, order
from service.ingest import warnings as look
from service.ingest.options import Limits, Options
from service.ingest.refusals import SHOWN, counted, quoted, refuse
from service.ingest.upload import (
    ERRORED,
    NOT_RUN,
    SCORED,
    STATES,
    UNSCORED,
    Grid,
    ModelReport,
    ToolIdentifiers,
    Upload,
)

Cell = TypeVar("Cell", bound=np.generic)

MOST_WARNINGS = 100


def finish(grid: Grid, form: str, options: Options, limits: Limits) -> Upload:
    """Build the upload from a reader's grid.

    Raises
    ------
    TooLarge
        More models, examples or cells than `limits` allow.
    InvalidUpload
        Cells are missing and `options.missing` is "reject".
    """
    _check_size(grid, limits)
    missing = None if grid.states is None or not grid.states.any() else grid.states != SCORED
    warnings = [*grid.warnings, *_choices(missing, options)]
    zero_filled = options.missing == "zero"
    if missing is not None:
        _treat_missing(grid, missing, options)
    matrix = Matrix.build(
        grid.models,
        grid.examples,
        grid.values,
        missing=None if zero_filled else missing,
        subtasks=grid.subtasks,
        confidences=grid.confidences,
        embeddings=grid.embeddings,
    )
    rows, columns = order(grid.models), order(grid.examples)
    states = None if missing is None else _taken(grid.states, rows, columns)
    warnings += [*_missing(matrix, states), *look.warnings(matrix, grid.hashes)]
    repeats = _taken(grid.repeats, rows, columns)
    return Upload(
        matrix=matrix,
        format=form,
        name=grid.name,
        warnings=_limited(warnings),
        models=_reports(matrix, states, repeats, grid.reported),
        states=states,
        repeats=repeats,
        native=None if grid.native is None else _ordered(grid.native, columns),
        hashes=None if grid.hashes is None else tuple(grid.hashes[j] for j in columns),
        attempts=_attempts(grid, rows, columns, states if zero_filled else None),
    )


def _taken(
    cells: NDArray[Cell] | None, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> NDArray[Cell] | None:
    return None if cells is None else cells[np.ix_(rows, columns)]


def _attempts(
    grid: Grid, rows: NDArray[np.intp], columns: NDArray[np.intp], zero_filled: NDArray[np.uint8] | None
) -> tuple[ModelAttempts, ...] | None:
    """Each model's attempts; by states zero-filled, what counts as wrong counts as one failed attempt."""
    if grid.attempts is None:
        return None
    attempts = [grid.attempts[i].take(columns) for i in rows]
    if zero_filled is None:
        return tuple(attempts)
    return tuple(mine.failed_where(row != SCORED) for mine, row in zip(attempts, zero_filled, strict=True))


def _treat_missing(grid: Grid, missing: NDArray[np.bool_], options: Options) -> None:
    if options.missing == "reject":
        raise _refuse_missing(grid, missing)
    if options.missing == "zero":
        grid.values = grid.values.copy()
        grid.values[missing] = 0


def _choices(missing: NDArray[np.bool_] | None, options: Options) -> list[str]:
    """Warnings on how the caller's options changed the scores."""
    notes = []
    if options.scale is not None:
        ends = f"{options.scale.worst:g} to {options.scale.best:g}"
        notes.append(f"scores from {ends} are read as 0 to 1, because of scale=")
    if missing is not None and options.missing == "zero":
        notes.append(
            f"{counted(int(missing.sum()), 'missing cell')} counted as wrong, because of missing=zero"
        )
    return notes


def _limited(warnings: list[str]) -> tuple[str, ...]:
    """At most `MOST_WARNINGS` warnings."""
    if len(warnings) <= MOST_WARNINGS:
        return tuple(warnings)
    return (*warnings[:MOST_WARNINGS], f"and {len(warnings) - MOST_WARNINGS} more warnings")


def _missing(matrix: Matrix, states: NDArray[np.uint8] | None) -> list[str]:
    """A warning with the number of cells without a score, and why, unless they count as wrong."""
    if matrix.missing is None or states is None:
        return []
    counts = {name: int((states == k).sum()) for k, name in enumerate(STATES) if k != SCORED}
    why = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items() if n)
    i, j = np.argwhere(matrix.missing)[0].tolist()
    first = f"model {quoted(matrix.models[i])}, example {quoted(matrix.examples[j])}"
    return [f"cells without a score: {matrix.missing_cells} of {matrix.missing.size} ({why}), first {first}"]


def _check_size(grid: Grid, limits: Limits) -> None:
    n_models, n_examples = len(grid.models), len(grid.examples)
    for name, size, most in (
        ("models", n_models, limits.models),
        ("examples", n_examples, limits.examples),
        ("cells", n_models * n_examples, limits.cells),
    ):
        if size > most:
            detail = (
                f"the upload has {size:,} {name}, but this service accepts at most {most:,}; send fewer, or "
                f"ask the operator to raise TASTETEST_MAX_{name.upper()}"
            )
            raise TooLarge(detail, [FieldError(name, "too_many", f"{size:,}")])
    if not n_models or not n_examples:
        raise refuse("the upload holds no scores; send at least one model and one example", "no_rows")


def _refuse_missing(grid: Grid, missing: NDArray[np.bool_]) -> Exception:
    cells = np.argwhere(missing)
    places = [
        (f"model {quoted(grid.models[i])}, example {quoted(grid.examples[j])}", "no score")
        for i, j in cells[:SHOWN].tolist()
    ]
    models, examples = (int(missing.any(axis=axis).sum()) for axis in (1, 0))
    where = f"{counted(models, 'model')} and {counted(examples, 'example')}"
    detail = (
        f"{counted(len(cells), 'cell')} without a score, in {where}, first {places[0][0]}; "
        "send missing=keep to keep them as missing or missing=zero to count them as wrong"
    )
    return refuse(detail, "missing", places)


def _ordered(native: ToolIdentifiers, columns: NDArray[np.intp]) -> ToolIdentifiers:
    return ToolIdentifiers(
        native.tool, tuple(native.tasks[j] for j in columns), tuple(native.ids[j] for j in columns)
    )


def _reports(
    matrix: Matrix,
    states: NDArray[np.uint8] | None,
    repeats: NDArray[np.uint16] | None,
    reported: dict[str, float],
) -> tuple[ModelReport, ...]:
    count = [
        np.full(len(matrix.models), len(matrix.examples)),
        *[np.zeros(len(matrix.models), dtype=int)] * 3,
    ]
    if states is not None:
        count = [(states == state).sum(axis=1) for state in range(len(STATES))]
    answers = count[SCORED] if repeats is None else repeats.sum(axis=1, dtype=np.int64)
    size = len(matrix.examples)
    right = matrix.sums
    divisor = np.full(len(matrix.models), size) if matrix.missing is None else count[SCORED]
    return tuple(
        ModelReport(
            model=model,
            scored=int(count[SCORED][i]),
            errored=int(count[ERRORED][i]),
            unscored=int(count[UNSCORED][i]),
            not_run=int(count[NOT_RUN][i]),
            mean=float(right[i] / divisor[i]) if divisor[i] else None,
            bounds=(float(right[i] / size), float((right[i] + size - count[SCORED][i]) / size)),
            reported=reported.get(model),
            answers=int(answers[i]),
        )
        for i, model in enumerate(matrix.models)
    )
