"""The MDAD without steps, against curves whose MDAD is known, theory, and simulation's own scatter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import hypergeom

from service.engine.data.pairs import choose_pairs, discordant, signs
from service.engine.measures.clustered_errors import Clusters, PairSums
from service.engine.measures.local_probit import Levels, fit_mdad
from service.engine.measures.random_agreement import random_agreement
from tests.engine.measures.populations import pool


def levels_of(gap: np.ndarray, n_examples: int) -> Levels:
    return Levels.of(np.asarray(gap, dtype=np.float64), n_examples, counts=True)


def exact_random(scores: np.ndarray, sizes: list[int]) -> tuple[Levels, np.ndarray]:
    """Levels of all pairs, and the exact agreement of random draws tallied over them."""
    pairs = choose_pairs(len(scores), 1, 10**6, np.random.default_rng(0))
    right = scores.sum(axis=1, dtype=np.float64)
    better, worse = discordant(scores, pairs.first, pairs.second)
    outcome = random_agreement(scores.shape[1], better, worse, np.array(sizes))
    levels = levels_of(np.abs(right[pairs.first] - right[pairs.second]), scores.shape[1])
    return levels, levels.tally(outcome.half_credit.T[:, levels.kept])


@pytest.mark.parametrize(("mdad", "growth"), [(0.02, 1.0), (0.05, 1.0), (0.05, 0.7), (0.11, 1.4)])
def test_a_curve_of_the_model_gives_its_mdad_back(mdad: float, growth: float) -> None:
    levels = levels_of(np.repeat(np.arange(1, 200), 5), 1000)
    agreement = ndtr(ndtri(0.8) * (levels.difference / mdad) ** growth)
    fits = fit_mdad(levels, (levels.weight * agreement)[None], 0.8, 1000)
    # The ridge pulls the growth towards 1.
    assert fits.mdad[0] == pytest.approx(mdad, rel=0.01 if growth == 1 else 0.04)
    assert abs(fits.growth[0] - 1) <= abs(growth - 1) + 0.01
    assert fits.reached.all()


def test_curves_fitted_together_are_as_each_alone() -> None:
    levels = levels_of(np.repeat(np.arange(1, 150), 3), 500)
    rng = np.random.default_rng(1)
    credit = rng.binomial(3, ndtr(ndtri(0.8) * levels.difference / np.array([[0.03], [0.08], [0.2]]))) * 1.0
    together = fit_mdad(levels, credit, 0.8, 500)
    for at, row in enumerate(credit):
        assert together.mdad[at] == pytest.approx(fit_mdad(levels, row[None], 0.8, 500).mdad[0], rel=1e-9)


def test_random_draws_follow_normal_theory_where_pairs_disagree_equally() -> None:
    # Every pair differs on 200 of 1,000 examples or about so: Δ = z √(D/n (N − n)/(N − 1)).
    rng = np.random.default_rng(3)
    base = rng.random(1000) < 0.5
    scores = np.array([np.where(rng.random(1000) < 0.11 + 0.002 * i, ~base, base) for i in range(25)]).astype(
        np.uint8
    )
    sizes = [50, 100, 200, 400]
    levels, credit = exact_random(scores, sizes)
    found = fit_mdad(levels, credit, 0.8, 1000).mdad
    apart = np.mean([np.mean(scores[i] != scores[j]) for i in range(25) for j in range(i)])
    theory = [ndtri(0.8) * np.sqrt(apart / n * (1000 - n) / 999) for n in sizes]
    assert found == pytest.approx(theory, rel=0.06)


def test_a_gap_between_models_is_not_a_detection_limit() -> None:
    rng = np.random.default_rng(0)
    right = [400 + 2 * i for i in range(8)] + [700 + 2 * i for i in range(8)]
    scores = np.zeros((16, 1000), dtype=np.uint8)
    for row, count in zip(scores, right, strict=True):
        row[rng.permutation(1000)[:count]] = 1
    sizes = [10, 25, 50, 100, 250, 500]
    levels, credit = exact_random(scores, sizes)
    fits = fit_mdad(levels, credit, 0.8, 1000)
    rates = [np.mean(scores[i] != scores[j]) for i in range(16) for j in range(i)]
    for n, found in zip(sizes, fits.mdad, strict=True):
        narrow, wide = (ndtri(0.8) * np.sqrt(d / n * (1000 - n) / 999) for d in (min(rates), max(rates)))
        assert narrow * 0.95 <= found <= wide * 1.05
    assert fits.below[:5] == pytest.approx([0.014] * 5)
    assert fits.above[:5] == pytest.approx([0.286] * 5)


def test_pairs_that_never_reach_p_leave_an_extrapolation() -> None:
    levels = levels_of(np.repeat(np.arange(1, 20), 10), 1000)
    fits = fit_mdad(levels, (levels.weight * 0.55)[None], 0.8, 1000)
    assert not fits.reached[0]
    assert fits.mdad[0] > levels.difference[-1]


def test_no_mdad_below_one_example() -> None:
    levels = levels_of(np.repeat(np.arange(1, 50), 10), 1000)
    fits = fit_mdad(levels, levels.weight[None].copy(), 0.8, 1000)
    assert fits.mdad[0] == pytest.approx(1 / 1000)
    assert not fits.slope.any()


def test_no_pair_that_differs_gives_no_number() -> None:
    levels = levels_of(np.zeros(5), 10)
    fits = fit_mdad(levels, np.empty((2, 0)), 0.8, 10)
    assert not fits.reached.any()
    assert np.isinf(fits.log_mdad).all()


def test_influences_are_the_derivatives_of_the_estimate() -> None:
    levels = levels_of(np.repeat(np.arange(1, 150), 4), 500)
    credit = levels.weight * ndtr(ndtri(0.8) * levels.difference / 0.06)
    fits = fit_mdad(levels, credit[None], 0.8, 500)
    step = 1e-2
    for at in (10, 28, 60):
        moved = credit.copy()
        moved[at] += step
        change = (fit_mdad(levels, moved[None], 0.8, 500).log_mdad[0] - fits.log_mdad[0]) / step
        assert change == pytest.approx(fits.slope[0, at], rel=0.1, abs=2e-4)


def experiment(
    scores: np.ndarray, size: int, trials: int, targets: int, rng: np.random.Generator
) -> tuple[float, float]:
    """log MDAD of simulated random draws, and its claimed standard error over seeds."""
    n = scores.shape[1]
    models = np.stack([rng.permutation(len(scores))[:targets] for _ in range(trials)])
    estimates = np.stack([scores[rows][:, rng.permutation(n)[:size]].mean(axis=1) for rows in models])
    right = scores.sum(axis=1, dtype=np.float64)
    pairs = choose_pairs(targets, trials, 10**6, rng)
    gap = right[models[pairs.trial, pairs.first]] - right[models[pairs.trial, pairs.second]]
    levels = levels_of(np.abs(gap), n)
    order = signs(estimates[pairs.trial, pairs.first] - estimates[pairs.trial, pairs.second])
    values = ((order * np.sign(gap) > 0) + 0.5 * (order == 0))[levels.kept]
    fits = fit_mdad(levels, levels.tally(values[None]), 0.8, n)
    influence = PairSums(pairs, levels, models.shape).influence(fits.slope[0], fits.fitted[0], values)
    return fits.log_mdad[0], float(Clusters(models, (trials,)).errors(influence).trials)


def test_simulated_draws_scatter_about_the_exact_mdad_as_claimed() -> None:
    scores = pool(60, 400, seed=5)
    levels, credit = exact_random(scores, [50])
    exact = fit_mdad(levels, credit, 0.8, 400).log_mdad[0]
    rng = np.random.default_rng(7)
    runs = np.array([experiment(scores, 50, 30, 30, rng) for _ in range(120)])
    actual, claimed = runs[:, 0].std(ddof=1), np.sqrt((runs[:, 1] ** 2).mean())
    assert claimed == pytest.approx(actual, rel=0.35)
    assert abs(runs[:, 0].mean() - exact) < 0.02 + 3 * actual / np.sqrt(len(runs))


def test_hypergeometric_ties_count_half() -> None:
    # Two models, b = 6, c = 2 of 10, n = 4: P(agree) + P(tie)/2 by enumeration.
    agree = tie = 0.0
    for d in range(5):
        for x in range(d + 1):
            chance = hypergeom.pmf(d, 10, 8, 4) * hypergeom.pmf(x, 8, 6, d)
            agree += chance * (2 * x > d)
            tie += chance * (2 * x == d)
    outcome = random_agreement(10, np.array([6]), np.array([2]), np.array([4]))
    assert outcome.half_credit[0, 0] == pytest.approx(agree + tie / 2)
