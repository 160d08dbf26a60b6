"""Checks the arrays that accompany the scores: subtasks, confidences and embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service.ingest import ids
from service.ingest.options import Limits
from service.ingest.refusals import refuse


def per_example(subtasks: object, examples: Sequence[str], limits: Limits) -> list[str]:
    """Check that there is one subtask name per example."""
    if not isinstance(subtasks, list) or len(subtasks) != len(examples):
        n = len(subtasks) if isinstance(subtasks, list) else "no list of"
        detail = f"subtasks has {n} names for {len(examples)} examples; give one name per example"
        raise refuse(detail, "subtasks", [("/subtasks", "length")])
    for j, name in enumerate(subtasks):
        if not isinstance(name, str):
            raise refuse(
                f"/subtasks/{j}: {name!r} is not text; write subtasks as text",
                "subtasks",
                [(f"/subtasks/{j}", repr(name))],
            )
        ids.check(name, "subtask", f"/subtasks/{j}", limits)
    return subtasks


def shaped(array: NDArray[np.float64], dimensions: int, field: str) -> NDArray[np.float64]:
    """The array; refused unless it has this many dimensions."""
    if array.ndim != dimensions:
        detail = f"{field} has {array.ndim} dimensions and needs {dimensions}"
        raise refuse(detail, "shape", [(f"/{field}", f"shape {array.shape}")])
    return array


def confidences(values: NDArray[np.generic], states: NDArray[np.uint8] | None) -> NDArray[np.float32]:
    """Probabilities in [0, 1], one for each cell with a score; 0 elsewhere."""
    probabilities = values.astype(np.float32)
    bad = ~((probabilities >= 0) & (probabilities <= 1))
    if states is not None:
        bad &= states == 0
        probabilities[states != 0] = 0
    if bad.any():
        i, j = np.argwhere(bad)[0].tolist()
        detail = (
            f"/confidences/{i}/{j} is {values[i, j]}, but each cell with a score needs a confidence from 0 "
            f"to 1; {int(bad.sum())} cells are not"
        )
        raise refuse(detail, "confidence_out_of_range", [(f"/confidences/{i}/{j}", str(values[i, j]))])
    return probabilities


def embeddings(values: NDArray[np.generic], n_examples: int) -> NDArray[np.float32]:
    """Finite vectors, one per example."""
    if values.ndim != 2 or len(values) != n_examples or not values.shape[1]:
        detail = f"embeddings has shape {values.shape}; give one vector for each of the {n_examples} examples"
        raise refuse(detail, "embeddings", [("/embeddings", f"shape {values.shape}")])
    with np.errstate(over="ignore"):
        vectors = values.astype(np.float32)
    if not np.isfinite(vectors).all():
        j = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise refuse(
            f"/embeddings/{j} is not finite in 32 bits", "embeddings", [(f"/embeddings/{j}", "not finite")]
        )
    return vectors
