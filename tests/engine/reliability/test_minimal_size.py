"""The promise on made curves: the true MDAD at the chosen size is within the target in 80 %."""

from __future__ import annotations

import numpy as np
import pytest

from service.engine.measures.clustered_errors import Clusters
from service.engine.measures.size_curve import SizeCurve
from service.engine.measures.worst_curve import WorstCurve
from service.engine.reliability.minimal_size import margin, minimal_size, seed_interval

SIZES = np.array([20, 30, 45, 70, 100, 150])
TRIALS = 40


def truth(sizes: np.ndarray) -> np.ndarray:
    """log MDAD that falls with the root of the size, as random draws' does."""
    return np.log(0.3) - 0.5 * np.log(sizes)


def drawn(rng: np.random.Generator, noise: float, behind: float = 0.0, settings: int = 1) -> WorstCurve:
    """Curves with noise that trials explain, shared between sizes."""
    return WorstCurve({str(at): one_drawn(rng, noise, behind) for at in range(settings)})


def one_drawn(rng: np.random.Generator, noise: float, behind: float) -> SizeCurve:
    by_trial = rng.normal(0, noise * np.sqrt(TRIALS), size=(1, TRIALS)) * np.ones((len(SIZES), 1))
    by_trial += rng.normal(0, 0.3 * noise * np.sqrt(TRIALS), size=(len(SIZES), TRIALS))
    influence = np.repeat((by_trial / TRIALS)[:, :, None], 2, axis=2)
    clusters = Clusters(np.tile([0, 1], (TRIALS, 1)), (TRIALS,))
    return SizeCurve(SIZES, truth(SIZES) + behind + by_trial.mean(axis=1), influence, clusters, 10_000)


def kept(rng: np.random.Generator, methods: int, settings: int = 1, runs: int = 400) -> float:
    hits = 0
    for _ in range(runs):
        curves = {k: drawn(rng, 0.05, settings=settings) for k in range(methods)}
        found = minimal_size(curves, 0.04, 1000)
        hits += found is not None and truth(np.array([found.size]))[0] <= np.log(0.04)
    return hits / runs


@pytest.mark.parametrize("methods", [1, 2, 5])
def test_the_promise_holds_however_many_methods_compete(methods: int) -> None:
    rate = kept(np.random.default_rng(methods), methods)
    assert rate >= 0.8 - 1.645 * np.sqrt(0.8 * 0.2 / 400)
    assert rate < 0.97


def test_the_promise_holds_in_every_setting() -> None:
    """The same MDAD in two settings: the size is too small only where it is in both."""
    rate = kept(np.random.default_rng(0), 1, settings=2)
    assert rate >= 0.8 - 1.645 * np.sqrt(0.8 * 0.2 / 400)


def test_the_worst_setting_decides() -> None:
    rng = np.random.default_rng(2)
    like, better = one_drawn(rng, 0.001, 0.0), one_drawn(rng, 0.001, 0.3)
    both = minimal_size({"one": WorstCurve({"like": like, "better": better})}, 0.05, 1000)
    alone = minimal_size({"one": WorstCurve({"better": better})}, 0.05, 1000)
    assert both.size == alone.size
    assert WorstCurve({"like": like, "better": better}).worst(both.size)[0] == "better"


def test_margins() -> None:
    assert margin(1) == pytest.approx(0.8416, abs=1e-4)
    assert margin(5) == pytest.approx(1.7507, abs=1e-4)


def test_a_formula_needs_no_margin() -> None:
    exact = SizeCurve(SIZES, truth(SIZES), np.zeros((6, 1, 4)), Clusters(np.arange(4)[None], (1,)), 10_000)
    curve = WorstCurve({"like": exact})
    found = minimal_size({"random": curve}, 0.04, 1000)
    assert found.size == int(np.ceil((0.3 / 0.04) ** 2))
    assert seed_interval(curve, np.log(0.04), found.margin) == (found.size, found.size)


def test_a_method_clearly_behind_is_not_in_contention() -> None:
    rng = np.random.default_rng(1)
    found = minimal_size({"good": drawn(rng, 0.02), "poor": drawn(rng, 0.02, behind=0.4)}, 0.04, 1000)
    assert found.contenders == ("good",)
    assert found.reaching == ("good",)


def test_no_size_within_the_target() -> None:
    assert minimal_size({"one": drawn(np.random.default_rng(0), 0.02)}, 0.001, 1000) is None
    assert minimal_size({"one": drawn(np.random.default_rng(0), 0.02)}, 0.04, 25) is None
