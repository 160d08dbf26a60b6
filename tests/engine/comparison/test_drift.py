import numpy as np
import pytest

from service.engine.comparison.drift import drift


def simulated(new=30, noise=0.03, seed=0, close=1.0):
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.3, 0.8, 60 + new)
    scores[60:] = 0.55 + close * (scores[60:] - 0.55)
    joined = np.arange(60 + new) >= 60
    estimates = scores + rng.normal(0, 0.03, 60 + new)
    estimates[joined] = scores[joined] + rng.normal(0, noise, new)
    return estimates, scores, joined


def test_counted_by_hand():
    found = drift(np.array([0.1, 0.5, 0.3]), np.array([0.1, 0.4, 0.5]), np.array([False, False, True]))
    assert (found.new_models, found.pairs) == (1, 2)
    assert found.agreement == 0.5
    assert found.agreement_interval is None
    assert found.deviation_then == pytest.approx(np.sqrt(0.005))
    assert found.deviation_now == pytest.approx(0.2)
    assert not found.reselect


def test_errors_as_before_are_no_drift_even_when_the_new_models_lie_closer():
    flagged = [
        drift(*simulated(seed=seed, close=close)).reselect for seed in range(40) for close in (1.0, 0.3)
    ]
    assert np.mean(flagged) < 0.05


def test_errors_that_grew_are_found():
    found = drift(*simulated(noise=0.15))
    assert found.reselect
    assert found.agreement_interval[1] < found.agreement_expected - 0.02


def test_no_new_model_is_no_drift():
    estimates, scores, _ = simulated(new=0)
    found = drift(estimates, scores, np.zeros(60, dtype=bool))
    assert (found.new_models, found.agreement, found.deviation_now, found.reselect) == (0, None, None, False)


def test_the_interval_covers_the_agreement_of_many_more_models():
    many = drift(*simulated(new=1500, seed=99)).agreement
    inside = []
    for seed in range(150):
        low, high = drift(*simulated(new=20, seed=seed)).agreement_interval
        inside.append(low <= many <= high)
    assert np.mean(inside) > 0.88
