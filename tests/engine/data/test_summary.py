"""The first look at a matrix, against numpy and by hand."""

from __future__ import annotations

import numpy as np

from service.engine.data import summary
from service.engine.data.matrix import Matrix


def matrix_of(scores: np.ndarray, missing: np.ndarray | None = None) -> Matrix:
    models, examples = (
        [f"{kind}{at:03}" for at in range(n)] for kind, n in zip("me", scores.shape, strict=True)
    )
    return Matrix.build(models, examples, scores, missing=missing)


def test_difficulty_is_the_mean_over_scored_models() -> None:
    missing = np.array([[False, True, True], [False, False, True]])
    found = summary.difficulty(matrix_of(np.array([[1.0, 0, 0], [0, 1, 0]]), missing))
    np.testing.assert_array_equal(found, [0.5, 1.0, np.nan])
    assert summary.difficulty(matrix_of(np.array([[1.0], [0.0]]))).tolist() == [0.5]


def test_models_are_identical_when_scores_and_gaps_are() -> None:
    scores = np.array([[1.0, 0], [1, 0], [0, 0], [1, 0]])
    assert summary.identical_models(matrix_of(scores)) == [("m000", "m001", "m003")]
    missing = np.zeros((4, 2), dtype=bool)
    missing[3, 1] = True
    assert summary.identical_models(matrix_of(scores, missing)) == [("m000", "m001")]


def test_subtasks_have_their_own_numbers() -> None:
    matrix = Matrix.build(
        ["a", "b"], ["x", "y", "z"], np.array([[1, 1, 0], [0, 1, 0]]), subtasks=["one", "one", "two"]
    )
    one, two = summary.subtasks(matrix)
    assert (one.name, one.examples, one.mean, one.low, one.high) == ("one", 2, 0.75, 0.5, 1.0)
    assert (two.name, two.examples, two.mean) == ("two", 1, 0.0)
