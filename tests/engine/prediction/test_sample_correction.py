"""Corrected scores against every possible sample, and the parts they are made of."""

import itertools

import numpy as np
import pytest

from service.engine.comparison.full_scores import best_mixture
from service.engine.prediction.regression_assisted import regress_examples
from service.engine.prediction.sample_correction import LEAST_SQUARES, corrected_score, variance

RNG = np.random.default_rng(4)
TRUE, FIXED = (RNG.random(9) < 0.6).astype(float), RNG.random(9)


def every_sample(size):
    for drawn in itertools.combinations(range(9), size):
        chosen = np.array(drawn)
        errors = TRUE[chosen] - FIXED[chosen]
        share = np.full(size, size / 9)
        one = corrected_score(FIXED, errors, chosen, TRUE[chosen], share)
        yield one.score, variance(one.influence, share, 9, None)


@pytest.mark.parametrize("size", [3, 5])
def test_over_all_samples_the_score_is_right_and_so_is_its_variance(size):
    scores, variances = (np.array(column) for column in zip(*every_sample(size), strict=True))
    assert scores.mean() == pytest.approx(TRUE.mean())
    left_open = LEAST_SQUARES * (1 - size / 9) / size**2
    assert variances.mean() - left_open == pytest.approx(scores.var())


def test_what_was_chosen_for_certain_has_no_sampling_error():
    chosen, share = np.arange(9), np.ones(9)
    one = corrected_score(FIXED, TRUE - FIXED, chosen, TRUE, share)
    assert one.score == pytest.approx(TRUE.mean())
    assert variance(one.influence, share, 9, None) == 0


def test_errors_that_go_together_count_as_one():
    chosen, share = np.arange(8), np.full(8, 0.5)
    answers = np.repeat([1.0, 0.0, 1.0, 1.0], 2)
    one = corrected_score(np.full(16, 0.5), answers - 0.5, chosen, answers, share)
    alone = variance(one.influence, share, 16, None)
    assert variance(one.influence, share, 16, np.repeat(np.arange(4), 2)) > 2 * alone


def test_leave_one_out_errors_are_those_of_fits_without_the_answer():
    rng = np.random.default_rng(0)
    covariates, answers, weights = rng.random((30, 2)), rng.random(12), np.ones(12)
    predicted, errors = regress_examples(np.arange(12), answers, covariates, weights)
    assert predicted.shape == (30,)
    centred = np.hstack((np.ones((12, 1)), covariates[:12] - covariates[:12].mean(axis=0)))
    for left in range(12):
        kept = np.delete(np.arange(12), left)
        inner = centred[kept].T @ centred[kept] + np.diag([1e-9, 0.5, 0.5])
        fit = np.linalg.solve(inner, centred[kept].T @ answers[kept])
        assert errors[left] == pytest.approx(answers[left] - np.clip(centred[left] @ fit, 0, 1))


def test_the_mixture_is_the_best_on_a_grid():
    errors = np.random.default_rng(2).normal(size=(2, 40)) * [[1.0], [1.5]]
    shares = best_mixture(errors, np.ones(40))
    grid = np.linspace(0, 1, 1001)
    spread = [np.var(at * errors[0] + (1 - at) * errors[1]) for at in grid]
    assert shares[0] == pytest.approx(grid[int(np.argmin(spread))], abs=0.002)
    assert shares.sum() == pytest.approx(1)


def test_equal_answers_are_predicted_by_the_baseline_alone():
    errors = np.vstack((np.random.default_rng(3).normal(size=20), np.zeros(20)))
    assert best_mixture(errors, np.ones(20)) == pytest.approx([0, 1], abs=1e-6)
