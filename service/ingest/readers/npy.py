"""Reads NPY: one array of scores; the caller says what its rows are and that there are no ids."""

from __future__ import annotations

from service.ingest import npy, scores
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.refusals import refuse
from service.ingest.source import File
from service.ingest.streams import too_large_document
from service.ingest.upload import Grid


def matches(head: Head) -> bool:
    """Whether it begins with the magic bytes."""
    return head.data.startswith(npy.MAGIC)


def read(file: File, context: Context) -> Grid:
    """The array as a matrix, with models and examples named by their number from 0.

    Raises
    ------
    InvalidUpload
        It is not a two-dimensional array of scores, or options are missing.
    """
    with file.open() as stream:
        data = stream.read(context.limits.document + 1)
    if len(data) > context.limits.document:
        raise too_large_document(file.name, context.limits)
    return from_array(npy.load(data, file.name), file.name, context)


def from_array(array: npy.Array, name: str, context: Context) -> Grid:
    """Build a grid from an array without names."""
    options = context.options
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        detail = (
            f"{name} is {array.dtype} of shape {array.shape}; scores are a two-dimensional array of numbers"
        )
        raise refuse(detail, "shape", [(name, f"shape {array.shape}")])
    if options.orientation is None or options.ids != "row_number":
        detail = (
            f"{name} is an array of shape {array.shape} without names; send NPZ with models, examples and "
            "scores, or orientation=models_as_rows or models_as_columns, and ids=row_number"
        )
        raise refuse(detail, "no_ids", [(name, f"shape {array.shape}")])
    raw = array if options.orientation == "models_as_rows" else array.T
    models, examples = ([str(i) for i in range(n)] for n in raw.shape)
    where = scores.Where(lambda i, j: f"{name}[{i}, {j}]", lambda i, j: models[i], lambda i, j: examples[j])
    values, states = scores.from_numbers(*npy.without_nan(raw), options, where)
    context.warn("an array holds no names, so models and examples are named by their number, from 0")
    return Grid(models, examples, values, states)
