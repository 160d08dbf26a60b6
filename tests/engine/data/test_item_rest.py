"""Item–rest correlations by brute force, and what they say of labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from service.engine.data import item_rest as module
from service.engine.data.item_rest import doubtful, item_rest
from tests.engine import made

SMALL = hnp.arrays(
    float, st.tuples(st.integers(3, 7), st.integers(2, 6)), elements=st.sampled_from([0.0, 0.5, 1.0])
)


def by_hand(scores: np.ndarray, missing: np.ndarray, j: int) -> float:
    """NaN where undefined."""
    pairs = []
    for i in np.flatnonzero(~missing[:, j]):
        others = [scores[i, k] for k in range(scores.shape[1]) if k != j and not missing[i, k]]
        if others:
            pairs.append((scores[i, j], np.mean(others)))
    if not pairs or np.std(pairs, axis=0).min() < 1e-9:
        return np.nan
    return float(np.corrcoef(np.transpose(pairs))[0, 1])


@given(SMALL, st.data(), st.booleans(), st.booleans())
def test_it_is_the_correlation_with_the_mean_of_the_others(
    scores: np.ndarray, data: st.DataObject, gaps: bool, binary: bool
) -> None:
    scores = (scores > 0.6).astype(float) if binary else scores
    missing = data.draw(hnp.arrays(bool, scores.shape)) if gaps else np.zeros(scores.shape, dtype=bool)
    found = item_rest(made.matrix(scores, missing=missing))
    expected = [by_hand(scores, missing, j) for j in range(scores.shape[1])]
    assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("gaps", [False, True])
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, gaps: bool) -> None:
    rng = np.random.default_rng(0)
    matrix = made.matrix(rng.random((20, 50)).round(), missing=(rng.random((20, 50)) < 0.2) & gaps)
    whole = item_rest(matrix)
    monkeypatch.setattr(module, "_BLOCK", 7)
    assert item_rest(matrix) == pytest.approx(whole, abs=1e-12)


def test_swapped_labels_are_found_and_little_else() -> None:
    rng = np.random.default_rng(1)
    ability = np.linspace(-2, 2, 60)[:, None]
    scores = (rng.random((60, 300)) < 1 / (1 + np.exp(-ability))).astype(float)
    scores[:, [7, 200]] = 1 - scores[:, [7, 200]]
    matrix = made.matrix(scores)
    found = doubtful(matrix, item_rest(matrix))
    assert set(found[:2].tolist()) == {7, 200}
    assert len(found) <= 3


def test_noise_makes_next_to_no_example_doubtful() -> None:
    matrix = made.matrix((np.random.default_rng(2).random((60, 4000)) < 0.5).astype(float))
    assert len(doubtful(matrix, item_rest(matrix))) <= 2


def test_few_models_make_no_example_doubtful() -> None:
    correlations = np.array([0.5, -0.97, np.nan, -1.0])
    few, enough = (made.matrix(np.zeros((models, 4))) for models in (7, 8))
    assert doubtful(few, correlations).tolist() == []
    assert doubtful(enough, correlations).tolist() == [3, 1]


def test_examples_that_few_models_answered_are_never_doubtful() -> None:
    rng = np.random.default_rng(3)
    missing = np.ones((60, 300), dtype=bool)
    for column in missing.T:
        column[rng.permutation(60)[:3]] = False
    matrix = made.matrix((rng.random(missing.shape) < 0.5).astype(float), missing=missing)
    correlations = item_rest(matrix)
    assert np.nanmin(correlations) == pytest.approx(-1)
    assert doubtful(matrix, correlations).tolist() == []


def test_models_with_one_answer_do_not_make_a_correlation_surer() -> None:
    rng = np.random.default_rng(4)
    scores = (rng.random((400, 20)) < 0.5).astype(float)
    missing = np.zeros(scores.shape, dtype=bool)
    missing[10:] = True
    missing[10:, 0] = False
    few, many = made.matrix(scores[:10]), made.matrix(scores, missing=missing)
    correlations = np.where(np.arange(20) == 0, -0.5, 0.5)
    assert doubtful(many, correlations).tolist() == doubtful(few, correlations).tolist() == []


def test_scores_whose_products_underflow_have_no_correlation() -> None:
    scores = np.array([[2, 2, 1], [1, 1, 2], [2, 2, 2]]) * 6e-154
    assert np.isnan(item_rest(made.matrix(scores))).all()
