"""One more model for a matrix that stands: its results put under the matrix's examples, by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from service.engine.data.matrix import Matrix
from service.ingest.refusals import listed, refuse
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
        Over `examples`; cells of examples that `part` lacks are missing. Subtasks and
        embeddings, which belong to the matrix, are left out.

    Raises
    ------
    InvalidUpload
        `part` has examples the matrix does not know, or shares none with it.
    """
    index = {example: j for j, example in enumerate(examples)}
    beyond = [example for example in part.examples if example not in index]
    lacking = sorted(set(examples).difference(part.examples))
    if beyond:
        detail = (
            f"{len(beyond)} of the {len(part.examples)} examples are not in the matrix ({listed(beyond)}), "
            f"and {len(lacking)} of its {len(examples)} are not in the upload"
            f"{f' ({listed(lacking)})' if lacking else ''}; send results on the same version of the benchmark"
        )
        raise refuse(detail, "unknown_examples", [(example, "not in the matrix") for example in beyond[:20]])
    return _placed(part, examples, np.array([index[example] for example in part.examples], dtype=np.intp))


def under(upload: Upload, examples: Sequence[str]) -> Upload:
    """An upload over exactly these examples; those it lacks were not run. See `align`."""
    matrix, gaps = align(upload.matrix, examples), lacking(upload.matrix, examples)
    found = replace(
        upload,
        matrix=matrix,
        warnings=(*upload.warnings, *gaps),
        models=tuple(_report(report, upload, len(examples)) for report in upload.models),
    )
    if not gaps:
        return found
    index = {example: j for j, example in enumerate(examples)}
    columns = [index[example] for example in upload.matrix.examples]
    states = np.full(matrix.scores.shape, NOT_RUN, dtype=np.uint8)
    states[:, columns] = SCORED if upload.states is None else upload.states
    repeats = None
    if upload.repeats is not None:
        repeats = np.zeros(matrix.scores.shape, dtype=np.uint16)
        repeats[:, columns] = upload.repeats
    return replace(found, states=states, repeats=repeats, native=None, hashes=None)


def _report(report: ModelReport, upload: Upload, n: int) -> ModelReport:
    """The report over n examples."""
    here = len(upload.matrix.examples)
    low, high = (bound * here for bound in report.bounds)
    bounds = low / n, (high + n - here) / n
    return replace(report, not_run=report.not_run + n - here, bounds=bounds)


def other_content(upload: Upload, examples: Sequence[str], hashes: Sequence[str | None] | None) -> list[str]:
    """Examples whose content is not that known under the same ids, by the tool's own hashes."""
    if upload.hashes is None or hashes is None:
        return []
    known = dict(zip(examples, hashes, strict=True))
    pairs = zip(upload.matrix.examples, upload.hashes, strict=True)
    return [name for name, found in pairs if found and known.get(name) not in (None, found)]


def _placed(part: Matrix, examples: Sequence[str], columns: NDArray[np.intp]) -> Matrix:
    """The part's cells in these columns, the others missing."""
    shape = (len(part.models), len(examples))
    values = np.zeros(shape, dtype=part.scores.dtype)
    values[:, columns] = part.scores
    gone = np.ones(shape, dtype=bool)
    gone[:, columns] = False if part.missing is None else part.missing
    confidences = None
    if part.confidences is not None:
        confidences = np.zeros(shape, dtype=np.float32)
        confidences[:, columns] = part.confidences
    return Matrix.build(part.models, examples, values, missing=gone, confidences=confidences)


def lacking(part: Matrix, examples: Sequence[str]) -> list[str]:
    """What to tell whoever sent results on only some of these examples, as warnings."""
    gaps = sorted(set(examples).difference(part.examples))
    if not gaps:
        return []
    return [
        f"the upload has no results on {len(gaps)} of the matrix's {len(examples)} examples: {listed(gaps)}"
    ]
