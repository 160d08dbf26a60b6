"""Examples and attempts under one budget: the closed form against drawing subsets and attempts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from service.engine.comparison.attempts_budget import (
    AttemptVariance,
    attempt_variance,
    difference_variance,
    plan_budget,
)
from service.engine.data.attempts import AttemptsError, ModelAttempts

TOTAL = 150
RNG = np.random.default_rng(3)
CHANCES = np.clip(RNG.beta(1, 1, TOTAL) + RNG.normal(0, 0.15, (2, TOTAL)), 0.02, 0.98)
TRUE = AttemptVariance(
    between=float((CHANCES[0] - CHANCES[1]).var(ddof=1)),
    within=float((CHANCES * (1 - CHANCES)).mean(axis=1).sum()),
)


def drawn(chances: NDArray[np.float64], attempts: int, seed: int) -> ModelAttempts:
    values = np.random.default_rng(seed).random((len(chances), attempts)) < chances[:, None]
    counts = np.full(len(chances), attempts, dtype=np.uint16)
    outcomes = np.zeros(values.size, dtype=np.uint8)
    return ModelAttempts(counts, values.ravel().astype(np.uint8), outcomes, ordered=False)


@pytest.mark.parametrize(("examples", "attempts"), [(20, 1), (50, 3), (150, 1), (150, 4)])
def test_the_closed_form_is_what_draws_give(examples: int, attempts: int) -> None:
    rng, draws = np.random.default_rng(examples + attempts), 6_000
    chosen = rng.permuted(np.tile(np.arange(TOTAL), (draws, 1)), axis=1)[:, :examples]
    scores = [rng.binomial(attempts, chance[chosen]).mean(axis=1) / attempts for chance in CHANCES]

    simulated = np.var(scores[0] - scores[1])

    # The standard error of a variance over 6,000 draws is 1.8 %.
    assert difference_variance(TRUE, examples, attempts, TOTAL) == pytest.approx(simulated, rel=0.06)


def test_variances_are_estimated_without_bias() -> None:
    found = [
        attempt_variance([drawn(chance, 4, 2 * seed + i) for i, chance in enumerate(CHANCES)])
        for seed in range(200)
    ]

    assert np.mean([one.between for one in found]) == pytest.approx(TRUE.between, rel=0.05)
    assert np.mean([one.within for one in found]) == pytest.approx(TRUE.within, rel=0.02)


def test_more_examples_come_before_a_second_attempt() -> None:
    plan = plan_budget(100, TOTAL, TRUE, probability=0.8, margin=0.0)

    assert (plan.best.examples, plan.best.attempts) == (100, 1)
    assert plan.repeats_wasted
    assert all(other.standard_error > plan.best.standard_error for other in plan.others)
    assert plan.best.detectable == pytest.approx(0.8416212 * plan.best.standard_error)


def test_runs_beyond_the_benchmark_are_attempts() -> None:
    plan = plan_budget(3 * TOTAL + 5, TOTAL, TRUE, probability=0.8, margin=0.0)

    assert (plan.best.examples, plan.best.attempts) == (TOTAL, 3)
    assert not plan.repeats_wasted


@pytest.mark.parametrize("margin", [0.0, 0.02, 0.05])
def test_false_alarms_are_those_of_two_runs_of_one_model(margin: float) -> None:
    model, draws = CHANCES[0], 40_000
    rng = np.random.default_rng(5)
    one, two = (np.array([(rng.random(TOTAL) < model).sum() for _ in range(draws)]) for _ in range(2))
    alarms = float(np.mean((two - one) / TOTAL < -margin - 1e-12))

    within = float(2 * (model * (1 - model)).mean())
    plan = plan_budget(TOTAL, TOTAL, AttemptVariance(0.1, within), probability=0.8, margin=margin)

    assert plan.false_alarm == pytest.approx(alarms, abs=0.01)


def test_one_attempt_a_cell_says_nothing_about_attempts() -> None:
    with pytest.raises(AttemptsError, match="send within_variance"):
        attempt_variance([drawn(chance, 1, i) for i, chance in enumerate(CHANCES)])
