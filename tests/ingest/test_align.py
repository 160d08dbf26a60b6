"""A new model's results put under the examples of a matrix."""

from __future__ import annotations

import numpy as np
import pytest

from service.core.errors import InvalidUpload
from service.engine.data.matrix import Matrix
from service.ingest import align

EXAMPLES = ("q1", "q2", "q3")


def test_by_id_with_missing_kept() -> None:
    part = Matrix.build(["m"], ["q3", "q1"], np.array([[1, 0]]), confidences=np.array([[0.9, 0.1]]))
    full = align(part, EXAMPLES)
    assert full.examples == EXAMPLES
    assert full.scores.tolist() == [[0, 0, 1]]
    assert full.missing is not None
    assert full.missing.tolist() == [[False, True, False]]
    assert full.confidences is not None
    assert full.confidences.round(1).tolist() == [[pytest.approx(0.1), 0, pytest.approx(0.9)]]


def test_complete_stays_complete_and_gaps_stay_gaps() -> None:
    assert align(Matrix.build(["m"], ["q2", "q3", "q1"], np.array([[1, 0, 1]])), EXAMPLES).missing is None
    part = Matrix.build(["m"], ["q2", "q3", "q1"], np.array([[1, np.nan, 0.5]]))
    assert align(part, EXAMPLES).missing_cells == 1
    assert align(part, EXAMPLES).scores.tolist() == [[0.5, 1, 0]]


def test_another_version_of_the_benchmark_is_refused_with_counts() -> None:
    part = Matrix.build(["m"], ["q1", "q4", "q5"], np.array([[1, 0, 1]]))
    with pytest.raises(InvalidUpload) as caught:
        align(part, EXAMPLES)
    assert "2 of the 3 examples in the upload are not in the matrix ('q4', 'q5')" in caught.value.detail
    assert "2 of the 3 examples in the matrix are not in the upload ('q2', 'q3')" in caught.value.detail
    assert [fault.pointer for fault in caught.value.faults] == ["q4", "q5"]
