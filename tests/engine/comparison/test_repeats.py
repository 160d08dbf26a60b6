import numpy as np
import pytest

from service.engine.comparison.repeats import repeated


def test_means_and_noise_by_hand():
    found = repeated(np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, np.nan], [1.0, np.nan, np.nan]]))
    assert found.mean == pytest.approx([2 / 3, 0, 1, 1])
    assert found.noise[:3] == pytest.approx([1 / 3 / 3, 0, 0])
    assert found.noise[3] == pytest.approx(1 / 9)
    assert (found.summary.always_right, found.summary.always_wrong, found.summary.mixed) == (1, 1, 1)
    assert found.summary.run_scores == pytest.approx((3 / 4, 1 / 3, 1 / 2))


def test_one_run_has_no_noise_to_measure():
    found = repeated(np.array([[1.0], [0.0]]))
    assert found.noise is None
    assert found.summary.run_deviation is None
    assert not found.summary.identical


def test_an_example_never_run_has_no_mean():
    found = repeated(np.array([[1.0, 0.0], [np.nan, np.nan]]))
    assert found.mean[0] == 0.5
    assert np.isnan(found.mean[1])


def test_the_noise_of_a_run_is_the_spread_of_run_scores():
    rng = np.random.default_rng(0)
    chance = rng.random(200)
    runs = (rng.random((200, 400)) < chance[:, None]).astype(float)
    found = repeated(runs)
    assert found.summary.run_deviation == pytest.approx(runs.mean(axis=0).std(ddof=1), rel=0.1)
