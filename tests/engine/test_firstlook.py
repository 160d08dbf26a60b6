"""The first look at a matrix, against numpy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.engine import firstlook
from service.engine.matrix import Matrix


def matrix_of(scores: np.ndarray, missing: np.ndarray | None = None) -> Matrix:
    models, examples = (
        [f"{kind}{at:03}" for at in range(n)] for kind, n in zip("me", scores.shape, strict=True)
    )
    return Matrix.build(models, examples, scores, missing=missing)


@given(st.integers(0, 1000), st.booleans(), st.booleans())
def test_item_rest_is_the_correlation_with_the_mean_of_the_others(
    seed: int, graded: bool, gaps: bool
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random((12, 9))
    scores = scores if graded else (scores < 0.6).astype(float)
    missing = rng.random((12, 9)) < 0.2 if gaps else np.zeros((12, 9), dtype=bool)
    found = firstlook.item_rest(matrix_of(scores, missing if gaps else None))
    for j in range(9):
        rows = np.flatnonzero(~missing[:, j] & ((~missing).sum(axis=1) > 1))
        others = [k for k in range(9) if k != j]
        rest = [scores[i, others][~missing[i, others]].sum() / ((~missing[i]).sum() - 1) for i in rows]
        mine = scores[rows, j]
        if np.ptp(mine) < 1e-9 or np.ptp(rest) < 1e-9:
            assert np.isnan(found[j])
        else:
            assert found[j] == pytest.approx(np.corrcoef(mine, rest)[0, 1], abs=1e-9)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = matrix_of((np.random.default_rng(0).random((20, 50)) < 0.5).astype(float))
    whole = firstlook.item_rest(matrix)
    monkeypatch.setattr(firstlook, "BLOCK_CELLS", 60)
    np.testing.assert_array_equal(firstlook.item_rest(matrix), whole)


def test_swapped_labels_are_found_and_little_else() -> None:
    rng = np.random.default_rng(1)
    ability = np.linspace(-2, 2, 60)[:, None]
    scores = (rng.random((60, 300)) < 1 / (1 + np.exp(-ability))).astype(float)
    scores[:, [7, 200]] = 1 - scores[:, [7, 200]]
    found = firstlook.doubtful(firstlook.item_rest(matrix_of(scores)), 60)
    assert set(found[:2].tolist()) == {7, 200}
    assert len(found) <= 3


def test_chance_alone_makes_about_one_example_in_forty_doubtful() -> None:
    scores = (np.random.default_rng(2).random((60, 4000)) < 0.5).astype(float)
    found = firstlook.doubtful(firstlook.item_rest(matrix_of(scores)), 60)
    assert 0.015 < len(found) / 4000 < 0.035


def test_few_models_make_no_example_doubtful() -> None:
    assert len(firstlook.doubtful(np.array([-1.0, np.nan]), 9)) == 0
    assert firstlook.doubtful(np.array([0.5, -0.9, np.nan, -1.0]), 10).tolist() == [3, 1]


def test_difficulty_is_the_mean_over_scored_models() -> None:
    missing = np.array([[False, True, True], [False, False, True]])
    found = firstlook.difficulty(matrix_of(np.array([[1.0, 0, 0], [0, 1, 0]]), missing))
    np.testing.assert_array_equal(found, [0.5, 1.0, np.nan])
    assert firstlook.difficulty(matrix_of(np.array([[1.0], [0.0]]))).tolist() == [0.5]


def test_models_are_identical_when_scores_and_gaps_are() -> None:
    scores = np.array([[1.0, 0], [1, 0], [0, 0], [1, 0]])
    assert firstlook.identical_models(matrix_of(scores)) == [("m000", "m001", "m003")]
    missing = np.zeros((4, 2), dtype=bool)
    missing[3, 1] = True
    assert firstlook.identical_models(matrix_of(scores, missing)) == [("m000", "m001")]


def test_subtasks_have_their_own_numbers() -> None:
    matrix = Matrix.build(
        ["a", "b"], ["x", "y", "z"], np.array([[1, 1, 0], [0, 1, 0]]), subtasks=["one", "one", "two"]
    )
    one, two = firstlook.subtasks(matrix)
    assert (one.name, one.examples, one.mean, one.low, one.high) == ("one", 2, 0.75, 0.5, 1.0)
    assert (two.name, two.examples, two.mean) == ("two", 1, 0.0)
