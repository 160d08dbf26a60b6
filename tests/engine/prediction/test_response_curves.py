"""Fitted curves against a general-purpose optimiser and against the curves that made the data."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from service.engine.prediction.response_curves import ability_scale, fit_curves
from tests.engine.prediction.populations import answers_of


def test_curves_maximise_the_posterior() -> None:
    abilities = np.linspace(-2, 2, 40)
    scores = answers_of(abilities, 30, seed=1)
    scale = ability_scale(scores)

    found = fit_curves(scores, scale.abilities)

    centre = found.parameters.mean(axis=0)
    v = found.covariance.mean(axis=0)
    prior = np.cov(found.parameters.T, bias=True) + np.array([[v[0], v[1]], [v[1], v[2]]])
    precision = np.linalg.inv(prior + 1e-3 * np.eye(2))

    def loss(parameters: np.ndarray, example: int) -> float:
        logits = parameters[0] + parameters[1] * scale.abilities
        apart = parameters - centre
        return float(
            np.logaddexp(0, logits).sum() - scores[:, example] @ logits + apart @ precision @ apart / 2
        )

    for example in range(0, 30, 7):
        best = minimize(loss, centre, args=(example,)).x
        np.testing.assert_allclose(found.parameters[example], best, atol=0.02)


def test_many_models_share_nodes_without_changing_the_curves() -> None:
    abilities = np.random.default_rng(2).normal(0, 1, 200)
    scores = answers_of(abilities, 50, seed=2)
    scale = ability_scale(scores)

    found = fit_curves(scores, scale.abilities)

    exact = fit_curves(scores, scale.abilities, np.ones(scores.shape, dtype=bool))
    np.testing.assert_allclose(found.parameters, exact.parameters, atol=1e-9)
    sums = 1 / (1 + np.exp(-found.logits(scale.abilities, predictive=False)))
    np.testing.assert_allclose(sums.mean(axis=0), scores.mean(axis=0), atol=0.05)


def test_missing_scores_do_not_count() -> None:
    scores = answers_of(np.linspace(-2, 2, 50), 40, seed=3)
    observed = np.random.default_rng(3).random(scores.shape) < 0.8
    scale = ability_scale(scores)

    found = fit_curves(np.where(observed, scores, 0.5), scale.abilities, observed)

    other = fit_curves(np.where(observed, scores, 0.0), scale.abilities, observed)
    np.testing.assert_allclose(found.parameters, other.parameters, atol=1e-6)


def test_graded_scores_are_less_dispersed_than_coin_flips() -> None:
    abilities = np.linspace(-2, 2, 60)
    chances = np.mean([answers_of(abilities, 40, seed) for seed in range(8)], axis=0)

    found = fit_curves(chances, ability_scale(chances).abilities)

    assert 0.05 < found.dispersion < 0.9
