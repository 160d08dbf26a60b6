"""Between sizes: exact random draws at every size are the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from service.engine.measures.clustered_errors import Clusters
from service.engine.measures.local_probit import fit_mdad
from service.engine.measures.size_curve import SizeCurve
from tests.engine.measures.populations import pool
from tests.engine.measures.test_local_probit import exact_random


def curve(sizes: list[int], values: list[float], *, falls: bool = True) -> SizeCurve:
    influence = np.arange(len(sizes) * 6, dtype=np.float64).reshape(len(sizes), 2, 3)
    clusters = Clusters(np.tile(np.arange(3), (2, 1)), (2,))
    return SizeCurve(np.array(sizes), np.array(values), influence, clusters, 1000, falls)


def test_ten_sizes_give_every_size_of_random_draws() -> None:
    scores = pool(40, 300, seed=1)
    measured = np.unique(np.round(np.geomspace(8, 270, 10)).astype(int))
    every = np.arange(8, 271, 7)
    levels, credit = exact_random(scores, measured.tolist())
    fits = fit_mdad(levels, credit, 0.8, 300)
    clusters = Clusters(np.arange(40)[None], (1,))
    found = SizeCurve(measured, fits.log_mdad, np.zeros((len(measured), 1, 40)), clusters, 300)
    levels, credit = exact_random(scores, every.tolist())
    exact = fit_mdad(levels, credit, 0.8, 300).log_mdad
    assert found.at(every) == pytest.approx(exact, abs=0.015)
    first = found.first_within(np.log(0.05))
    brute = every[np.argmax(exact <= np.log(0.05))]
    assert brute - 7 <= first <= brute + 2


def test_noise_that_rises_is_averaged() -> None:
    bent = curve([10, 20, 40], [-2.0, -3.2, -3.0])
    assert bent.at(np.array([20, 40])) == pytest.approx([-3.1, -3.1])
    assert bent.influence_at(20) == pytest.approx((bent.influence[1] + bent.influence[2]) / 2)


def test_what_may_rise_is_left_as_measured() -> None:
    assert curve([10, 20, 40], [-2.0, -3.2, -3.0], falls=False).at(np.array([40])) == pytest.approx([-3.0])


def test_influence_between_sizes_is_that_of_the_neighbours() -> None:
    plain = curve([10, 40, 160], [-1.0, -2, -3])
    assert plain.influence_at(20) == pytest.approx((plain.influence[0] + plain.influence[1]) / 2)
    assert plain.influence_at(160) == pytest.approx(plain.influence[2])


def test_a_target_that_no_size_measured_keeps() -> None:
    assert curve([10, 40], [-1.0, -2]).first_within(-2.5) is None
