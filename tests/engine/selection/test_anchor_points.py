import numpy as np
import pytest

from service.engine.data.contracts import Subset
from service.engine.data.errors import Unsuitable
from service.engine.selection.anchor_points import AnchorPoints, correlation_distances
from tests.engine.selection.sources import simulated, source


def pick(scores: np.ndarray, size: int, **extras: np.ndarray) -> Subset:
    return AnchorPoints().fit(source(scores, **extras), np.random.default_rng(0)).pick(size)


def two_skills() -> np.ndarray:
    """12 examples of one skill, then 8 of another; 40 models; a little noise."""
    rng = np.random.default_rng(0)
    skill = rng.integers(0, 2, size=(40, 2))
    scores = np.repeat(skill, [12, 8], axis=1)
    return np.where(rng.random(scores.shape) < 0.05, 1 - scores, scores).astype(np.uint8)


def test_distances_are_one_minus_correlation():
    scores = simulated(50, 30)
    values = scores[:, np.ptp(scores, axis=0) > 0].astype(np.float32)
    distances = correlation_distances(values)
    assert distances == pytest.approx(1 - np.corrcoef(values, rowvar=False), abs=1e-6)
    assert (np.diag(distances) == 0).all()
    assert distances.min() >= 0


def test_one_anchor_for_each_skill_weighted_by_its_examples():
    subset = pick(two_skills(), 2)
    assert subset.indices[0] < 12 <= subset.indices[1]
    assert subset.weights == pytest.approx([0.6, 0.4])


def test_constant_examples_are_not_chosen_and_go_to_the_anchor_that_foretells_them():
    rng = np.random.default_rng(1)
    easy = (rng.random(40) < 0.9)[:, None] & (rng.random((40, 6)) < 0.98)
    hard = (rng.random(40) < 0.1)[:, None] | (rng.random((40, 4)) < 0.02)
    scores = np.hstack((np.ones((40, 5)), easy, hard, np.zeros((40, 5)))).astype(np.uint8)
    subset = pick(scores, 2)
    assert 5 <= subset.indices[0] < 11 <= subset.indices[1] < 15
    assert subset.weights == pytest.approx([11 / 20, 9 / 20])


def test_constant_examples_are_chosen_when_nothing_else_is_left():
    scores = np.hstack((simulated(20, 6), np.ones((20, 4), dtype=np.uint8)))
    varying = np.flatnonzero(np.ptp(scores, axis=0))
    subset = pick(scores, 8)
    assert set(varying.tolist()) <= set(subset.indices.tolist())
    assert len(set(subset.indices.tolist())) == 8


def test_coincident_examples_share_their_weight():
    subset = pick(np.repeat(simulated(20, 4, seed=3), 5, axis=1), 8)
    assert subset.weights.min() >= 1 / 20
    assert len(subset.indices) == 8


def test_confidences_are_correlated_where_there_are_any():
    scores, confidences = simulated(40, 20), two_skills().astype(np.float32)
    subset = pick(scores, 2, confidences=confidences)
    assert subset.indices[0] < 12 <= subset.indices[1]


def test_too_few_source_models_are_refused_with_both_numbers():
    with pytest.raises(Unsuitable, match="at least 10 source models, but there are 9"):
        pick(simulated(9, 20), 5)


def test_more_examples_than_the_memory_cap_are_refused_before_any_is_taken():
    scores = np.random.default_rng(0).random((10, 16_500))
    with pytest.raises(Unsuitable, match="16,384"):
        pick(scores, 5)


@pytest.mark.parametrize(("models", "examples", "size"), [(10, 40, 20), (12, 40, 9), (14, 60, 20)])
def test_another_order_of_adding_changes_no_choice(models: int, examples: int, size: int):
    scores = simulated(models, examples)  # Few models: many distances are equal.
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(models)
        assert pick(scores[order], size).indices.tolist() == pick(scores, size).indices.tolist()
