"""Prediction given ability against dense linear algebra, numerical integrals and known limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid

from service.engine.prediction.ability_model import AbilityModel, fit_ability_model
from service.engine.prediction.ability_predictor import AbilityPredictor, predict_scores
from service.engine.prediction.ability_prior import log_prior
from tests.engine.prediction.populations import Floats, answers_of, source_of


def _dense(model: AbilityModel, chosen: Floats, answers: Floats) -> tuple[float, float]:
    """Estimate and variance for one model with N × N covariances and a numerical integral over ability."""
    examples = model.mean.shape[1]
    rest = np.setdiff1d(np.arange(examples), chosen)
    quasi, at, variance = [], [], []
    for g in range(len(model.grid)):
        s, amplified = model.deviation[g], model.leverage[g]
        whole = np.diag(s) @ (model.residual @ model.residual.T + model.noise * np.eye(examples)) @ np.diag(s)
        whole += np.diag(amplified) @ model.kinds @ model.kinds.T @ np.diag(amplified)
        inverse = np.linalg.inv(whole[np.ix_(chosen, chosen)])
        apart = answers - model.mean[g, chosen]
        across = whole[np.ix_(rest, chosen)]
        quasi.append(model.slope[g, chosen] @ inverse @ apart)
        at.append((answers.sum() + (model.mean[g, rest] + across @ inverse @ apart).sum()) / examples)
        variance.append((whole[np.ix_(rest, rest)] - across @ inverse @ across.T).sum() / examples**2)
    fine = np.linspace(model.grid[0], model.grid[-1], 20_001)
    slopes = np.interp(fine, model.grid, quasi)
    logs = cumulative_trapezoid(slopes, fine, initial=0) + np.interp(
        fine, model.grid, log_prior(model.grid, model.models, "like")
    )
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    low = answers.sum() / examples
    estimates = np.interp(fine, model.grid, np.clip(at, low, low + len(rest) / examples))
    score = float(weights @ estimates)
    return score, float(weights @ (estimates - score) ** 2 + weights @ np.interp(fine, model.grid, variance))


@pytest.mark.parametrize(("size", "groups"), [(12, 1), (45, 1), (12, 3)])
def test_prediction_is_that_of_dense_linear_algebra(size: int, groups: int) -> None:
    scores = answers_of(np.linspace(-1.5, 1.5, 20), 60, seed=1)
    model = fit_ability_model(source_of(scores, (np.arange(60) % groups).astype(np.int32)))
    chosen = np.random.default_rng(2).permutation(60)[:size]
    new = answers_of(np.array([2.5]), 60, seed=1)

    found = AbilityPredictor(model, chosen).predict(new[:, chosen])

    score, variance = _dense(model, chosen, new[0, chosen])
    assert found.score[0] == pytest.approx(score, abs=2e-4)
    assert found.variance[0] == pytest.approx(1.3 * variance, rel=0.02)


def test_all_examples_give_the_exact_mean_without_width() -> None:
    model = fit_ability_model(source_of(answers_of(np.linspace(-1, 1, 15), 40, seed=3)))
    new = answers_of(np.array([-4.0, 0.0, 4.0]), 40, seed=4)

    found = AbilityPredictor(model, np.arange(40)).predict(new)

    np.testing.assert_allclose(found.score, new.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.interval(0.99), new.mean(axis=1)[:, None].repeat(2, axis=1), atol=1e-9)


def test_more_right_answers_never_lower_the_order_when_examples_are_alike() -> None:
    rng = np.random.default_rng(5)
    model = fit_ability_model(source_of((rng.random((12, 80)) < 0.5).astype(np.float64)))
    right = np.array([2, 6, 10, 14, 18])
    answers = (np.arange(20) < right[:, None]).astype(np.float64)

    found = AbilityPredictor(model, np.arange(20)).predict(answers)

    assert (np.diff(found.score) > 0).all()
    assert (found.low <= found.score).all()
    assert (found.score <= found.high).all()


def test_coefficients_are_the_derivative_of_the_estimate() -> None:
    model = fit_ability_model(source_of(answers_of(np.linspace(-1.5, 1.5, 25), 70, seed=6)))
    chosen, step = np.arange(0, 70, 3), 1e-4
    answers = np.clip(answers_of(np.array([0.8]), 70, seed=6)[:, chosen], 0.2, 0.8)
    by = AbilityPredictor(model, chosen)

    found = by.predict(answers).coefficients[0]

    moved = answers + step * np.eye(len(chosen))
    np.testing.assert_allclose(found, (by.predict(moved).score - by.predict(answers).score) / step, atol=1e-4)


def test_missing_answers_are_as_if_not_asked() -> None:
    model = fit_ability_model(source_of(answers_of(np.linspace(-1.5, 1.5, 25), 70, seed=7)))
    chosen = np.arange(0, 60, 2)
    answers = answers_of(np.array([0.0, 1.0]), 70, seed=7)[:, chosen]
    answers[0, :10] = np.nan

    found = predict_scores(model, chosen, answers)

    alone = AbilityPredictor(model, chosen[10:]).predict(answers[:1, 10:])
    assert found.score[0] == alone.score[0]
    assert (found.coefficients[0, :10] == 0).all()
    assert found.score[1] == AbilityPredictor(model, chosen).predict(answers[1:]).score[0]


def test_intervals_cover_models_like_and_far_beyond_the_sources() -> None:
    covered: dict[str, list[bool]] = {"like": [], "beyond": []}
    for seed in range(12):
        abilities = np.random.default_rng(seed).normal(0, 0.6, 50)
        abilities[40:] += np.repeat([0.0, 2.5], 5)
        scores = answers_of(abilities, 400, seed)
        model = fit_ability_model(source_of(scores[:40]))
        chosen = np.random.default_rng(seed).permutation(400)[:50]
        found = AbilityPredictor(model, chosen).predict(scores[40:, chosen]).interval(0.9)
        inside = (found[:, 0] <= scores[40:].mean(axis=1)) & (scores[40:].mean(axis=1) <= found[:, 1])
        covered["like"] += inside[:5].tolist()
        covered["beyond"] += inside[5:].tolist()

    assert 0.8 <= np.mean(covered["like"]) <= 1
    assert 0.8 <= np.mean(covered["beyond"]) <= 1


def test_noise_of_the_run_is_added_to_the_variance() -> None:
    model = fit_ability_model(source_of(answers_of(np.linspace(-1.5, 1.5, 25), 70, seed=8)))
    chosen = np.arange(0, 70, 2)
    answers = answers_of(np.array([0.0]), 70, seed=9)[:, chosen]
    found = AbilityPredictor(model, chosen).predict(answers)

    with_noise = found.deviation(np.full(len(chosen), 0.1))

    added = 0.1 * (found.coefficients**2).sum(axis=1)
    np.testing.assert_allclose(with_noise**2, found.deviation() ** 2 + added)


@pytest.mark.parametrize("models", [1, 2, 3, 5])
def test_few_source_models_give_wide_finite_intervals(models: int) -> None:
    scores = answers_of(np.linspace(-1, 1, models), 100, seed=10)
    model = fit_ability_model(source_of(scores))
    new = answers_of(np.array([-2.0, 0.0, 2.0]), 100, seed=11)

    found = AbilityPredictor(model, np.arange(20)).predict(new[:, :20]).interval()

    assert np.isfinite(found).all()
    assert ((found[:, 1] - found[:, 0]) > 0.1).all()
