"""Model-assisted estimates: unbiased over samples and covering, whatever the model under test is."""

from __future__ import annotations

import numpy as np
import pytest

from service.engine.prediction.ability_model import fit_ability_model
from service.engine.prediction.model_assisted import assisted_scores, inverse_times
from tests.engine.prediction.populations import answers_of, source_of


@pytest.mark.parametrize("unlike", [False, True])
def test_interval_covers_and_estimate_is_unbiased_over_samples(unlike: bool) -> None:
    rng = np.random.default_rng(1)
    scores = answers_of(np.append(np.linspace(-1, 1, 30), 1.5), 300, seed=1)
    model = fit_ability_model(source_of(scores[:30]))
    new = 1 - scores[30] if unlike else scores[30]
    chosen = [rng.permutation(300)[:60] for _ in range(300)]

    found = [assisted_scores(model, c, new[None, c], np.full(60, 0.2)) for c in chosen]

    intervals = np.array([f.interval(0.9)[0] for f in found])
    covered = (intervals[:, 0] <= new.mean()) & (new.mean() <= intervals[:, 1])
    assert np.mean([f.score[0] for f in found]) == pytest.approx(new.mean(), abs=0.01)
    assert 0.86 <= covered.mean() <= 0.97


def test_unequal_probabilities_and_certain_examples_are_unbiased() -> None:
    rng = np.random.default_rng(2)
    scores = answers_of(np.append(np.linspace(-1, 1, 30), 2.0), 200, seed=2)
    model = fit_ability_model(source_of(scores[:30]))
    certain = np.arange(20)
    chances = np.linspace(0.1, 0.5, 180)
    found = []
    for _ in range(400):
        drawn = np.flatnonzero(rng.random(180) < chances)
        chosen = np.concatenate((certain, 20 + drawn))
        inclusion = np.concatenate((np.ones(20), chances[drawn]))
        found.append(assisted_scores(model, chosen, scores[30:, chosen], inclusion))

    intervals = np.array([f.interval(0.9)[0] for f in found])
    truth = scores[30].mean()
    assert np.mean([f.score[0] for f in found]) == pytest.approx(truth, abs=0.01)
    assert 0.84 <= ((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])).mean() <= 0.98


def test_everything_certain_is_exact() -> None:
    scores = answers_of(np.linspace(-1, 1, 20), 50, seed=3)
    model = fit_ability_model(source_of(scores))

    found = assisted_scores(model, np.arange(50), scores[:2], np.ones(50))

    np.testing.assert_allclose(found.score, scores[:2].mean(axis=1))
    np.testing.assert_allclose(found.error, 0)


@pytest.mark.parametrize("answers", [20, 150])
def test_the_smaller_system_solves_as_the_matrix_does(answers: int) -> None:
    rng = np.random.default_rng(0)
    factor, noise, errors = (
        rng.normal(size=(answers, 60)),
        rng.uniform(0.1, 1, answers),
        rng.normal(size=answers),
    )

    solved, diagonal = inverse_times(factor, noise, errors)

    whole = np.linalg.inv(factor @ factor.T + np.diag(noise))
    assert solved == pytest.approx(whole @ errors, abs=1e-9)
    assert diagonal == pytest.approx(np.diag(whole), abs=1e-9)
