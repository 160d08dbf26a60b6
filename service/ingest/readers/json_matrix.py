"""Reads a whole matrix in JSON: models, examples, scores[, subtasks, confidences, embeddings, name]."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.ingest import ids, scores, strict_json
from service.ingest.arrays import confidences, embeddings, per_example, shaped
from service.ingest.options import Limits, Options
from service.ingest.refusals import listed, refuse
from service.ingest.upload import Grid

REQUIRED = frozenset({"models", "examples", "scores"})
ALLOWED = REQUIRED | {"name", "subtasks", "confidences", "embeddings"}
ALSO = {"items": "examples", "matrix": "scores", "responses": "scores"}
"""Alternative names of fields, used if the field itself is absent."""


def matches(document: object) -> bool:
    """Whether it is an object with most fields of a matrix."""
    return isinstance(document, dict) and len(REQUIRED & {ALSO.get(key, key) for key in document}) >= 2


def from_object(document: object, options: Options, limits: Limits) -> Grid:
    """Build the grid from the parsed object."""
    fields = _fields(document)
    models = ids.checked_ids(_list(fields, "models"), "model", lambda i: f"/models/{i}", limits)
    examples = ids.checked_ids(_list(fields, "examples"), "example", lambda j: f"/examples/{j}", limits)
    where = scores.Where(lambda i, j: f"/scores/{i}/{j}", lambda i, j: models[i], lambda i, j: examples[j])
    values, states = _cells(_rows(fields["scores"], "scores", models, len(examples)), options, where)
    grid = Grid(models, examples, values, states, name=_name(fields.get("name"), limits))
    if fields.get("subtasks") is not None:
        grid.subtasks = per_example(fields["subtasks"], examples, limits)
    if fields.get("confidences") is not None:
        rows = _rows(fields["confidences"], "confidences", models, len(examples))
        grid.confidences = confidences(_floats(rows, "confidences"), states)
    if fields.get("embeddings") is not None:
        grid.embeddings = embeddings(_floats(_list(fields, "embeddings"), "embeddings"), len(examples))
    return grid


def _name(name: object, limits: Limits) -> str | None:
    if name is None:
        return None
    if not isinstance(name, str):
        raise refuse(f"/name: {name!r} is not text", "name", [("/name", "no text")])
    ids.check(name, "matrix", "/name", limits)
    return name


def _fields(document: object) -> dict[str, object]:
    if not isinstance(document, dict):
        raise refuse(
            "the JSON is not an object with models, examples and scores; send these three fields",
            "json_shape",
        )
    document = _canonical(document)
    missing, unknown = REQUIRED - set(document), set(document) - ALLOWED
    if missing or unknown:
        parts = (("lacks", missing), ("has unknown", unknown))
        wrong = " and ".join(f"{how} {listed(sorted(names))}" for how, names in parts if names)
        places = [(f"/{name}", "missing") for name in missing] + [(f"/{name}", "unknown") for name in unknown]
        detail = f"the object {wrong}; its fields are {', '.join(sorted(ALLOWED))}"
        raise refuse(detail, "json_fields", sorted(places)[:20])
    return document


def _canonical(document: dict[str, object]) -> dict[str, object]:
    renamed = {key: ALSO[key] for key in document if key in ALSO and ALSO[key] not in document}
    return {renamed.get(key, key): value for key, value in document.items()}


def _list(document: Mapping[str, object], field: str) -> list[Any]:
    value = document[field]
    if not isinstance(value, list) or not value:
        raise refuse(
            f"/{field} must be a list with at least one element", "json_shape", [(f"/{field}", "no list")]
        )
    return value


def _rows(rows: object, field: str, models: Sequence[str], width: int) -> list[list[Any]]:
    if not isinstance(rows, list) or len(rows) != len(models):
        n = len(rows) if isinstance(rows, list) else "no list of"
        detail = f"/{field} has {n} rows for {len(models)} models; give one row per model"
        raise refuse(detail, "json_shape", [(f"/{field}", "rows")])
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != width:
            n = len(row) if isinstance(row, list) else "no list of"
            detail = (
                f"/{field}/{i} (model {models[i]!r}) has {n} cells for {width} examples; give one cell per "
                "example"
            )
            raise refuse(detail, "ragged", [(f"/{field}/{i}", "cells")])
    return rows


def _cells(rows: list[list[Any]], options: Options, where: scores.Where) -> scores.Cells:
    kinds = {kind for row in rows for kind in set(map(type, row))}
    if kinds == {bool}:
        return scores.from_numbers(np.array(rows, dtype=bool), None, options, where)
    if kinds <= {int, float}:
        return scores.from_numbers(_array(rows), None, options, where)
    if kinds <= {int, float, type(None)}:
        return _nullable_cells(rows, options, where)
    return _text_cells(rows, options, where)


def _nullable_cells(rows: list[list[Any]], options: Options, where: scores.Where) -> scores.Cells:
    """Cells that are numbers or null."""
    missing = np.array([[cell is None for cell in row] for row in rows], dtype=bool)
    filled = [[0 if cell is None else cell for cell in row] for row in rows]
    return scores.from_numbers(_array(filled), missing, options, where)


def _text_cells(rows: list[list[Any]], options: Options, where: scores.Where) -> scores.Cells:
    """Cells of several types, each as its text."""
    texts = [[_text(cell) for cell in row] for row in rows]
    words = sorted({text for row in texts for text in row})
    index = {word: k for k, word in enumerate(words)}
    codes = np.array([[index[text] for text in row] for row in texts], dtype=np.int32)
    return scores.from_words(words, codes, None, options, where)


def _array(rows: list[list[Any]]) -> NDArray[np.generic]:
    """Rows of finite numbers: as bytes if they fit, which is fastest; else as floats."""
    with contextlib.suppress(TypeError, ValueError):
        return np.frombuffer(b"".join(map(bytes, rows)), dtype=np.uint8).reshape(len(rows), -1)
    return np.array(rows, dtype=np.float64)


def _text(cell: object) -> str:
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else strict_json.dumps(cell)


def _floats(rows: list[Any], field: str) -> NDArray[np.float64]:
    """Null becomes NaN."""
    try:
        array = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(
            f"/{field} must hold rows of numbers, all of the same length",
            "json_shape",
            [(f"/{field}", "rows")],
        ) from None
    return shaped(array, 2, field)
