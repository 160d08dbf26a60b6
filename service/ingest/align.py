"""Adds models to an existing matrix: matches their results to the matrix's examples by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from service.engine.data.matrix import Matrix
from service.ingest.matching import by_content
from service.ingest.refusals import listed, quoted, refuse
from service.ingest.upload import NOT_RUN, SCORED, ModelReport, Upload


def align(part: Matrix, examples: Sequence[str]) -> Matrix:
    """The same models over exactly these examples.

    Parameters
    ----------
    part : Matrix
        Results on some of the examples, in any order.
    examples : sequence of str
        The matrix's examples, sorted.

    Returns
    -------
    Matrix
        Over `examples`; cells of examples that `part` does not have are missing. Subtasks and
        embeddings belong to the matrix and are left out.

    Raises
    ------
    InvalidUpload
        `part` has examples that are not in the matrix.
    """
    index = {example: j for j, example in enumerate(examples)}
    unknown = [example for example in part.examples if example not in index]
    absent = sorted(set(examples).difference(part.examples))
    if unknown:
        detail = (
            f"{len(unknown)} of the {len(part.examples)} examples in the upload are not in the matrix "
            f"({listed(unknown)}), "
            f"and {len(absent)} of the {len(examples)} examples in the matrix are not in the upload"
            f"{f' ({listed(absent)})' if absent else ''}; send results on the same version of the benchmark"
        )
        raise refuse(detail, "unknown_examples", [(example, "not in the matrix") for example in unknown[:20]])
    return _in_columns(part, examples, np.array([index[example] for example in part.examples], dtype=np.intp))


def aligned_to(upload: Upload, examples: Sequence[str]) -> Upload:
    """The upload over exactly these examples; those it does not have count as not run. See `align`."""
    matrix, notes = align(upload.matrix, examples), _absent_examples(upload.matrix, examples)
    found = replace(
        upload,
        matrix=matrix,
        warnings=(*upload.warnings, *notes),
        models=tuple(_report(report, upload, len(examples)) for report in upload.models),
    )
    if not notes:
        return found
    index = {example: j for j, example in enumerate(examples)}
    columns = [index[example] for example in upload.matrix.examples]
    here = np.zeros(len(examples), dtype=bool)
    here[columns] = True
    states = np.full(matrix.scores.shape, NOT_RUN, dtype=np.uint8)
    states[:, columns] = SCORED if upload.states is None else upload.states
    repeats = None
    if upload.repeats is not None:
        repeats = np.zeros(matrix.scores.shape, dtype=np.uint16)
        repeats[:, columns] = upload.repeats
    attempts = upload.attempts
    if attempts is not None:
        attempts = tuple(mine.spread(here) for mine in attempts)
    return replace(found, states=states, repeats=repeats, native=None, hashes=None, attempts=attempts)


def _report(report: ModelReport, upload: Upload, n: int) -> ModelReport:
    """The report over n examples."""
    sent = len(upload.matrix.examples)
    low, high = (bound * sent for bound in report.bounds)
    bounds = low / n, (high + n - sent) / n
    return replace(report, not_run=report.not_run + n - sent, bounds=bounds)


def mismatched_content(
    upload: Upload, examples: Sequence[str], hashes: Sequence[str | None] | None
) -> list[str]:
    """Examples whose content hash differs from the known one of the same id."""
    if upload.hashes is None or hashes is None:
        return []
    known = dict(zip(examples, hashes, strict=True))
    pairs = zip(upload.matrix.examples, upload.hashes, strict=True)
    return [name for name, found in pairs if found and known.get(name) not in (None, found)]


def renamed_by_content(
    upload: Upload, examples: Sequence[str], hashes: Sequence[str | None] | None
) -> Upload:
    """The upload with the matrix's ids for what it knows under other ids; see `matching.by_content`.

    As it is where ids and contents agree, or the match is not one-to-one.
    """
    own, index = upload.matrix.examples, {example: j for j, example in enumerate(examples)}
    if hashes is None or upload.hashes is None or not index.keys() >= set(own):
        return upload
    columns = np.array([index[example] for example in own], dtype=np.int64)
    found = by_content(columns, upload.hashes, hashes)
    if found is None or (found == columns).all():
        return upload
    order = np.argsort(found)
    moved = int((found != columns).sum())
    text = (
        f"{moved} examples are numbered in another order than in the matrix (the first: "
        f"{quoted(own[int(np.flatnonzero(found != columns)[0])])}); they were matched by their content"
    )
    renamed = _reordered(upload, upload.hashes, order, [examples[j] for j in found[order]])
    return replace(renamed, warnings=(*upload.warnings, text))


def _reordered(
    upload: Upload, hashes: Sequence[str | None], order: NDArray[np.intp], names: Sequence[str]
) -> Upload:
    """The upload with its examples in another order, under these names."""
    return replace(
        upload,
        matrix=replace(upload.matrix.take(examples=order), examples=tuple(names)),
        states=None if upload.states is None else upload.states[:, order],
        repeats=None if upload.repeats is None else upload.repeats[:, order],
        hashes=tuple(hashes[j] for j in order),
        attempts=None if upload.attempts is None else tuple(mine.take(order) for mine in upload.attempts),
        native=None,
    )


def _in_columns(part: Matrix, examples: Sequence[str], columns: NDArray[np.intp]) -> Matrix:
    """The part's cells in these columns; all other cells are missing."""
    shape = (len(part.models), len(examples))
    values = np.zeros(shape, dtype=part.scores.dtype)
    values[:, columns] = part.scores
    missing = np.ones(shape, dtype=bool)
    missing[:, columns] = False if part.missing is None else part.missing
    confidences = None
    if part.confidences is not None:
        confidences = np.zeros(shape, dtype=np.float32)
        confidences[:, columns] = part.confidences
    return Matrix.build(part.models, examples, values, missing=missing, confidences=confidences)


def _absent_examples(part: Matrix, examples: Sequence[str]) -> list[str]:
    """A warning that names the examples without results, if there are any."""
    absent = sorted(set(examples).difference(part.examples))
    if not absent:
        return []
    return [
        f"the upload has no results on {len(absent)} of the matrix's {len(examples)} examples: "
        f"{listed(absent)}"
    ]
