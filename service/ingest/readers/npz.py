"""Reads NPZ: models, examples, scores[, subtasks, confidences, embeddings] as arrays; never unpickles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.ingest import arrays, ids, npy, scores
from service.ingest.archives import Zip
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.options import Limits
from service.ingest.readers.npy import from_array
from service.ingest.refusals import listed, refuse
from service.ingest.source import File
from service.ingest.upload import Grid

Arrays = dict[str, NDArray[np.generic]]
NAMES = {
    "models": ("models",),
    "examples": ("examples", "items"),
    "scores": ("scores", "responses"),
    "subtasks": ("subtasks",),
    "confidences": ("confidences",),
    "embeddings": ("embeddings",),
}


def matches(head: Head) -> bool:
    """Whether it is a zip of arrays."""
    return bool(head.entries) and all(name.endswith(".npy") for name in head.entries)


def read(file: File, context: Context) -> Grid:
    """The matrix in an archive of named arrays, with models as rows.

    Raises
    ------
    InvalidUpload
        An array is missing, unknown, pickled, or does not fit the others.
    """
    limits = context.limits
    members = _members(file, limits)
    if set(members) == {"arr_0"}:
        return from_array(members["arr_0"], file.name, context)
    found = _named(members, file.name)
    models = ids.checked_ids(npy.texts(found["models"], "models"), "model", lambda i: f"models[{i}]", limits)
    examples = ids.checked_ids(
        npy.texts(found["examples"], "examples"), "example", lambda j: f"examples[{j}]", limits
    )
    raw = found["scores"]
    _check_shape(raw, models, examples)
    where = scores.Where(lambda i, j: f"scores[{i}, {j}]", lambda i, j: models[i], lambda i, j: examples[j])
    values, states = scores.from_numbers(*npy.without_nan(raw), context.options, where)
    grid = Grid(models, examples, values, states)
    if "subtasks" in found:
        grid.subtasks = arrays.per_example(npy.texts(found["subtasks"], "subtasks"), examples, limits)
    if "confidences" in found:
        _check_shape(found["confidences"], models, examples, "confidences")
        grid.confidences = arrays.confidences(found["confidences"], states)
    if "embeddings" in found:
        grid.embeddings = arrays.embeddings(found["embeddings"], len(examples))
    return grid


def _members(file: File, limits: Limits) -> Arrays:
    """All arrays; refuse them if they exceed the limit together."""
    left = limits.bytes
    found: Arrays = {}
    with file.seekable() as stream:
        archive = Zip(stream, file.name, limits)
        for entry in archive.entries:
            data = archive.read(entry, left)
            left -= len(data)
            found[entry.removesuffix(".npy")] = npy.load(data, entry)
    return found


def _named(members: Arrays, name: str) -> Arrays:
    """The arrays by their canonical names."""
    found = {key: members[alias] for key, aliases in NAMES.items() for alias in aliases if alias in members}
    unknown = sorted(set(members) - {alias for aliases in NAMES.values() for alias in aliases})
    lacking = [key for key in ("models", "examples", "scores") if key not in found]
    if unknown or lacking:
        detail = (
            f"{name} holds the arrays {listed(sorted(members))}; it needs models, examples and scores, "
            "and may hold subtasks, confidences and embeddings"
        )
        raise refuse(
            detail,
            "npz_arrays",
            [(key, "missing") for key in lacking] + [(key, "unknown") for key in unknown],
        )
    return found


def _check_shape(
    raw: NDArray[np.generic], models: list[str], examples: list[str], name: str = "scores"
) -> None:
    if raw.shape != (len(models), len(examples)) or raw.dtype.kind not in "biuf":
        turned = "; transpose it" if raw.shape == (len(examples), len(models)) else ""
        detail = (
            f"{name} is {raw.dtype} of shape {raw.shape}; it needs numbers of shape "
            f"({len(models)} models, {len(examples)} examples){turned}"
        )
        raise refuse(detail, "shape", [(name, f"shape {raw.shape}")])
