"""When sessions are looked at, and that their intervals hold together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from service.engine.comparison.sequential.looks import MOST, information, mixture, plan_looks


def test_looks_begin_at_fifty_and_end_at_the_budget() -> None:
    plan = plan_looks(210, 25, 448, 0.9)

    assert plan.sizes == (50, 75, 100, 125, 150, 175, 200, 210)
    assert plan.spent[-1] == pytest.approx(0.1)
    # The last batch is smaller, and so is what may be spent on it.
    assert list(plan.critical[:-1]) == sorted(plan.critical[:-1], reverse=True)


@pytest.mark.parametrize(("budget", "sizes"), [(30, (30,)), (50, (50,)), (60, (50, 60))])
def test_small_budgets_have_few_looks(budget: int, sizes: tuple[int, ...]) -> None:
    plan = plan_looks(budget, 10, 448, 0.95)

    assert plan.sizes == sizes
    if len(sizes) == 1:
        assert plan.critical == pytest.approx([1.95996], abs=1e-5)


def test_the_whole_benchmark_ends_with_the_truth() -> None:
    plan = plan_looks(448, 25, 448, 0.9)

    assert plan.critical[-1] == 0
    assert plan.confidence(len(plan.sizes) - 1) == pytest.approx(1)
    assert all(spent >= 0.09 for size, spent in zip(plan.sizes, plan.spent, strict=True) if size >= 224)
    assert max(plan.critical[:-1]) < 4


def test_the_number_of_looks_is_limited() -> None:
    assert len(plan_looks(12_000, 10, 12_000, 0.9).sizes) <= MOST + 1


def test_the_look_that_answers_allow() -> None:
    plan = plan_looks(100, 25, 448, 0.9)

    assert [plan.at(n) for n in (0, 49, 50, 74, 75, 100)] == [None, None, 0, 0, 1, 2]


def test_information_of_a_sample_without_replacement() -> None:
    assert information(100, 200) == 200
    assert math.isinf(information(200, 200))


def test_the_mixture_is_robbins_formula() -> None:
    error, rho = 0.1, information(100, 448) / (2 * math.log(10) + math.log(1 + 2 * math.log(10)))
    known = information(60, 448)

    expected = ((1 + rho / known) * math.log((known + rho) / (rho * error**2))) ** 0.5

    assert mixture(60, 200, 448, error) == pytest.approx(expected)


def test_any_look_holds_whenever_it_is_looked_at() -> None:
    """A random walk looked at after every example crosses at most as often as promised."""
    total, budget, error = 100_000, 400, 0.1
    critical = np.array([mixture(n, budget, total, error) for n in range(1, 4001)])

    steps = np.random.default_rng(1).normal(size=(4000, 4000))
    walk = steps.cumsum(axis=1) / np.sqrt(np.arange(1, 4001))
    crossed = (np.abs(walk) > critical).any(axis=1).mean()

    assert crossed <= error
    # And it is no wider than it must be.
    assert crossed > error / 3
