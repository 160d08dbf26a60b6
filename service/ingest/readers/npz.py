"""NPZ: models, examples, scores[, subtasks, confidences, embeddings] as arrays, never pickled."""

from __future__ import annotations

import zipfile
import zlib

import numpy as np
from numpy.typing import NDArray

from service.ingest import arrays, ids, npy, scores
from service.ingest.faults import listed, refuse
from service.ingest.options import Limits, Options
from service.ingest.source import File, too_large
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


def read(file: File, options: Options, limits: Limits) -> Grid:
    """The matrix in an archive of named arrays, models as rows.

    Raises
    ------
    InvalidUpload
        An array is missing, unknown, pickled, or does not fit the others.
    """
    found = _named(_members(file, limits), file.name)
    models = ids.settle(npy.texts(found["models"], "models"), "model", lambda i: f"models[{i}]", limits)
    examples = ids.settle(
        npy.texts(found["examples"], "examples"), "example", lambda j: f"examples[{j}]", limits
    )
    raw = found["scores"]
    _check_shape(raw, models, examples)
    where = scores.Where(lambda i, j: f"scores[{i}, {j}]", lambda i, j: models[i], lambda i, j: examples[j])
    values, states = scores.from_numbers(*_without_nan(raw), options, where)
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
    try:
        with zipfile.ZipFile(file.open()) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > limits.bytes:
                raise too_large(file.name, limits)
            return {i.filename.removesuffix(".npy"): npy.load(archive.read(i), i.filename) for i in infos}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise refuse(f"{file.name} is no NPZ archive: {error}; save it with numpy.savez", "npz") from None


def _named(members: Arrays, name: str) -> Arrays:
    """The arrays under their canonical names."""
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


def _without_nan(raw: NDArray[np.generic]) -> tuple[NDArray[np.generic], NDArray[np.bool_] | None]:
    """NaN in an array is how NumPy marks a missing cell."""
    if raw.dtype.kind != "f":
        return raw, None
    gone = np.isnan(raw)
    return (raw, gone) if gone.any() else (raw, None)
