"""Sandwich variances against sums written out, and against the scatter of made data."""

from __future__ import annotations

import numpy as np
import pytest

from service.engine.data.pairs import choose_pairs
from service.engine.measures.clustered_errors import Clusters, PairSums
from service.engine.measures.local_probit import Levels


def test_variances_are_the_sums_written_out() -> None:
    rng = np.random.default_rng(0)
    models = np.stack([rng.permutation(7)[:4] for _ in range(5)])
    influence = rng.normal(size=(5, 4))
    trials = sum((row.sum() / 2) ** 2 for row in influence) * 5 / 4
    of_models = sum(influence[models == m].sum() ** 2 for m in range(7)) * 7 / 6
    errors = Clusters(models, (5,)).errors(influence)
    assert errors.trials**2 == pytest.approx(trials)
    assert errors.models**2 == pytest.approx(max(trials + of_models - (influence**2).sum(), trials))


def test_groups_of_trials_have_factors_of_their_own() -> None:
    influence = np.ones((4, 2))
    errors = Clusters(np.tile([0, 1], (4, 1)), (1, 3)).errors(influence)
    assert errors.trials**2 == pytest.approx(3 * 3 / 2)


def test_a_formula_has_an_error_of_models_only() -> None:
    errors = Clusters(np.arange(3)[None], (1,)).errors(np.array([[1.0, -2.0, 0.5]]))
    assert errors.trials == 0
    assert errors.models**2 == pytest.approx((1 + 4 + 0.25) * 3 / 2)


def test_many_statistics_at_once_are_each_alone() -> None:
    rng = np.random.default_rng(2)
    clusters = Clusters(np.stack([rng.permutation(9)[:5] for _ in range(6)]), (2, 4))
    influence = rng.normal(size=(3, 6, 5))
    together = clusters.errors(influence)
    for at, one in enumerate(influence):
        assert together.models[at] == pytest.approx(clusters.errors(one).models)
        assert together.trials[at] == pytest.approx(clusters.errors(one).trials)


def test_pairs_count_for_both_of_their_models() -> None:
    pairs = choose_pairs(3, 2, 100, np.random.default_rng(0))
    levels = Levels.of(np.array([1.0, 2, 1, 3, 0, 2]), 10, counts=True)
    slope, fitted = np.array([1.0, 2, 4]), np.zeros(3)
    values = np.array([1.0, 1, 1, 1, 1])
    found = PairSums(pairs, levels, (2, 3)).influence(slope, fitted, values)
    assert found.tolist() == [[1 + 2, 1 + 1, 2 + 1], [4, 4 + 2, 2]]


def test_the_error_of_a_mean_over_pairs_with_model_effects() -> None:
    # The mean over pairs of a_i + a_j is twice the mean effect: standard error 2 sd / √M.
    rng = np.random.default_rng(4)
    effects = rng.normal(size=80)
    pairs = choose_pairs(80, 1, 10**6, rng)
    levels = Levels.of(np.ones(len(pairs.first)), 10, counts=True)
    values = effects[pairs.first] + effects[pairs.second]
    found = PairSums(pairs, levels, (1, 80)).influence(
        np.array([1 / len(values)]), np.array([values.mean()]), values
    )
    error = Clusters(np.arange(80)[None], (1,)).errors(found).models
    assert error == pytest.approx(2 * effects.std(ddof=1) / np.sqrt(80), rel=0.03)
