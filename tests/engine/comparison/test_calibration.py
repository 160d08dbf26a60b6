import numpy as np
import pytest

from service.engine.comparison.calibration import calibrate, cross_validate
from service.engine.comparison.score_basis import Estimator
from service.engine.data.contracts import Source
from service.engine.selection.registry import create
from tests.engine.made import answers


def test_a_random_subset_is_worth_its_own_size():
    """Without replacement from N: n (N − 1) / (N − n), averaged over draws."""
    scores = answers(60, 400, seed=1).astype(float)
    rng, inverse = np.random.default_rng(0), []
    for _ in range(300):
        drawn = rng.choice(400, 50, replace=False)
        part = scores[:, drawn]
        found = calibrate(part.mean(axis=1), scores.mean(axis=1), part)
        inverse.append(1 / found.effective_size)
    assert 1 / np.mean(inverse) == pytest.approx(50 * 399 / 350, rel=0.12)


def test_sums_over_pairs_by_hand():
    part = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.5]])
    estimates, scores = np.array([0.5, 0.9, 0.2]), np.array([0.4, 0.95, 0.3])
    found = calibrate(estimates, scores, part)
    errors = estimates - scores
    squares = sum((errors[i] - errors[j]) ** 2 for i in range(3) for j in range(i))
    movement = sum(np.abs(part[i] - part[j]).mean() for i in range(3) for j in range(i))
    assert found.effective_size == pytest.approx(movement / squares)
    assert found.bias == pytest.approx(errors.mean())
    assert found.deviation == pytest.approx(np.sqrt((errors**2).mean()))


def test_without_errors_the_size_is_infinite_and_equal_answers_are_no_proof():
    part = np.array([[1.0, 0.0], [0.0, 0.0]])
    found = calibrate(np.array([0.5, 0.1]), np.array([0.5, 0.1]), part)
    assert found.effective_size == np.inf
    equal = np.ones((2, 10))
    assert Estimator(np.full(10, 0.1), found).difference_variance(equal)[0, 1] == 0
    usual = calibrate(np.array([0.5, 0.1]), np.array([0.4, 0.1]), part)
    by = Estimator(np.full(10, 0.1), usual)
    assert by.difference_variance(equal)[0, 1] == pytest.approx(1 / 12 / usual.effective_size)


def weighted(source, fitted, subset, answers):
    return fitted.estimate(subset, answers, "weighted")


def test_left_out_models_show_the_error_new_models_will_have():
    """Anchor points on 40 sources: cross-validation is near the error on 200 other models."""
    scores = answers(240, 300, seed=2)
    full, method = scores.mean(axis=1), create("anchor_points", {})
    said, seen = [], []
    for seed in range(4):
        rows = np.random.default_rng(seed).permutation(240)
        source = Source(scores[rows[:40]], np.zeros(300, dtype=np.int32))
        said.append(cross_validate(source, method, 30, weighted, np.random.default_rng(seed)).deviation)
        fitted = method.fit(source, np.random.default_rng(seed))
        subset = fitted.pick(30)
        new = rows[40:]
        estimates = fitted.estimate(subset, scores[new][:, subset.indices].astype(float), "weighted")
        seen.append(np.sqrt(((estimates - full[new]) ** 2).mean()))
    assert np.mean(said) == pytest.approx(np.mean(seen), rel=0.3)


def test_rounding_errors_of_estimates_from_all_examples_are_none():
    scores = np.random.default_rng(0).integers(0, 2, (12, 60)).astype(float)
    estimates = scores @ np.full(60, 1 / 60)
    assert calibrate(estimates, scores.mean(axis=1), scores).effective_size == np.inf
