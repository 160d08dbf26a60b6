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


def test_scores_that_are_all_low_are_seen_though_their_order_is_right():
    rng = np.random.default_rng(3)
    scores = np.concatenate((rng.uniform(0.3, 0.5, 60), np.linspace(0.6, 0.8, 11)))
    estimates = scores + rng.normal(0, 0.025, 71)
    estimates[60:] -= 0.08

    found = drift(estimates, scores, np.arange(71) >= 60)

    assert found.reselect
    assert set(found.reasons) >= {"error", "bias"}
    assert found.bias_now == pytest.approx(-0.08, abs=0.02)


def test_errors_as_they_were_are_hardly_ever_called_grown():
    alarms = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        scores = rng.uniform(0.3, 0.7, 70)
        found = drift(scores + rng.normal(0, 0.025, 70), scores, np.arange(70) >= 60)
        alarms.append(bool({"error", "bias"} & set(found.reasons)))
    assert np.mean(alarms) < 0.03
