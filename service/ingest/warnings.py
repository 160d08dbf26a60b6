"""Warnings about a matrix: properties of the data that may lead to wrong conclusions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from service.engine.data.item_rest import doubtful, item_rest
from service.engine.data.matrix import Matrix
from service.engine.data.summary import identical_models
from service.engine.prediction.near_copies import copy_groups
from service.ingest.refusals import listed, quoted

COVERAGE = 0.5
MOST_COMPARED = 2_000
"""Models beyond which near copies are not looked for: all pairs take long."""


def warnings(matrix: Matrix, hashes: Sequence[str | None] | None) -> list[str]:
    """All warnings about a matrix, one sentence each."""
    return [
        *_constant(matrix),
        *_identical(matrix),
        *_near_copies(matrix),
        *_mislabelled(matrix),
        *_repeated(matrix, hashes),
        *_coverage(matrix),
    ]


def _constant(matrix: Matrix) -> Iterator[str]:
    constant = np.flatnonzero(matrix.constant) if len(matrix.models) > 1 else np.zeros(0, dtype=int)
    if constant.size:
        shown = listed([matrix.examples[j] for j in constant.tolist()], 3)
        yield (
            f"examples with the same score for all models: {constant.size} of {len(matrix.examples)} "
            f"({shown}); they do not distinguish any models"
        )


def _identical(matrix: Matrix) -> Iterator[str]:
    same = identical_models(matrix)
    if same:
        count = sum(len(group) - 1 for group in same)
        shown = "; ".join(" = ".join(quoted(name) for name in group[:3]) for group in same[:3])
        yield (
            f"models with exactly the scores of another: {count} ({shown}); check that they are different "
            "models"
        )


def _near_copies(matrix: Matrix) -> Iterator[str]:
    count = len(matrix.models)
    if count > MOST_COMPARED:
        return
    groups = copy_groups(matrix.scores.astype(np.float64))
    distinct = int(groups.max(initial=-1)) + 1
    if distinct == count:
        return
    sizes = np.bincount(groups)
    largest = [
        np.flatnonzero(groups == k).tolist() for k in np.argsort(-sizes, kind="stable")[:3] if sizes[k] > 1
    ]
    shown = "; ".join(" ~ ".join(quoted(matrix.models[i]) for i in group[:3]) for group in largest)
    yield (
        f"models that are near copies of others ({shown}): {count} models count as {distinct} where they "
        "say what a new model does"
    )


def _mislabelled(matrix: Matrix) -> Iterator[str]:
    flagged = doubtful(matrix, item_rest(matrix)).tolist()
    if flagged:
        yield (
            f"examples with a negative item–rest correlation: {len(flagged)} ("
            f"{listed([matrix.examples[j] for j in flagged])}); "
            "better models fail them more often, so their labels may be wrong"
        )


def _repeated(matrix: Matrix, hashes: Sequence[str | None] | None) -> Iterator[str]:
    known = [h for h in hashes or () if h is not None]
    again = len(known) - len(set(known))
    if again:
        yield (
            f"examples with the same content as another example, under a different id: {again} of "
            f"{len(matrix.examples)}"
        )


def _coverage(matrix: Matrix) -> Iterator[str]:
    if matrix.missing is None:
        return
    share = 1 - matrix.missing.mean(axis=1)
    low = [matrix.models[i] for i in np.flatnonzero(share < COVERAGE).tolist()]
    if low:
        yield (
            f"models with scores on less than half of the examples: {listed(low)}; "
            "comparisons with them use only the shared examples"
        )
