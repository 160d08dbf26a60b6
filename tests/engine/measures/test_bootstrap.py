"""The two-way bootstrap against the plain loops that define it."""

from __future__ import annotations

import numpy as np
import pytest

from service.engine.data.pairs import N_BINS
from service.engine.measures import bootstrap
from service.engine.measures.bootstrap import ALL, EVEN, ODD, RESAMPLES, Multiplicities, interval, resample
from service.engine.measures.mdad import first_crossing_bin, isotonic_bin


def some_pairs(
    models: int, trials: int, curves: int
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(models, 1)
    rows = (np.tile(first, trials), np.tile(second, trials), np.repeat(np.arange(trials), len(first)))
    bins = rng.integers(0, 12, size=len(rows[0]))
    credits = (rng.random((len(bins), curves)) < 0.5 + bins[:, None] / 24).astype(np.float32)
    return bins, credits, rows


@pytest.mark.parametrize("paper", [False, True])
def test_weights_are_products_of_multiplicities(paper: bool) -> None:
    bins, credits, rows = some_pairs(models=7, trials=4, curves=2)
    drawn = Multiplicities.draw(7, 4, np.random.default_rng(1))
    found = resample(bins, credits, rows, drawn, 0.8, paper=paper, halves=True)
    rule = first_crossing_bin if paper else isotonic_bin
    for which, parity in ((ALL, (0, 1)), (EVEN, (0,)), (ODD, (1,))):
        for b in range(20):
            weight, credit = np.zeros((2, N_BINS))
            for pair, (i, j, t) in enumerate(zip(*rows, strict=True)):
                if t % 2 in parity:
                    mass = drawn.models[i, b] * drawn.models[j, b] * drawn.trials[t, b]
                    weight[bins[pair]] += mass
                    credit[bins[pair]] += mass * credits[pair, 1]
            assert found.agreement[which, 1, b] == credit.sum() / weight.sum()
            assert found.mdad[which, 1, b] == rule(weight[:, None], credit[:, None], 0.8)[0]


def test_memory_is_bounded_without_changing_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    bins, credits, rows = some_pairs(models=12, trials=6, curves=3)
    drawn = Multiplicities.draw(12, 6, np.random.default_rng(1))
    whole = resample(bins, credits, rows, drawn, 0.8, paper=False, halves=False)
    monkeypatch.setattr(bootstrap, "CELLS", 1)
    cut = resample(bins, credits, rows, drawn, 0.8, paper=False, halves=False)
    assert (whole.agreement == cut.agreement).all()
    assert (whole.mdad == cut.mdad).all()


def test_each_resample_draws_as_many_models_and_trials_as_there_are() -> None:
    drawn = Multiplicities.draw(30, 7, np.random.default_rng(0))
    assert drawn.models.shape == (30, RESAMPLES)
    assert (drawn.models.sum(axis=0) == 30).all()
    assert (drawn.trials[0::2].sum(axis=0) == 4).all()
    assert (drawn.trials[1::2].sum(axis=0) == 3).all()
    assert drawn.models.var() == pytest.approx(1 - 1 / 30, rel=0.05)


def test_one_trial_is_always_drawn() -> None:
    assert (Multiplicities.draw(10, 1, np.random.default_rng(0)).trials == 1).all()


def test_interval_is_the_middle_of_the_resamples_and_holds_the_point() -> None:
    values = np.arange(1000.0)
    assert interval(values, 500.0) == (25.0, 974.0)
    assert interval(values, 990.0) == (25.0, 990.0)
    assert interval(values, 3.0) == (3.0, 974.0)


def test_interval_of_an_mdad_sometimes_not_reached_is_open_above() -> None:
    values = np.where(np.arange(1000) < 960, 0.1, np.inf)
    assert interval(values, 0.1) == (0.1, np.inf)
