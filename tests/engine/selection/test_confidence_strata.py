import numpy as np
import pytest

from service.engine.selection.confidence_strata import ConfidenceStrata
from tests.engine.selection.sources import simulated, source


def levels() -> np.ndarray:
    """100 examples in five groups of 16 and five of 4, each of its own difficulty, from 20 models."""
    sizes = [16] * 5 + [4] * 5
    right = np.repeat(np.arange(1, 20, 2), sizes)
    return (np.arange(20)[:, None] < right).astype(np.uint8)


def test_strata_too_small_for_a_share_are_drawn_from_all_the_same():
    fitted = ConfidenceStrata().fit(source(levels()), np.random.default_rng(0))
    subset = fitted.pick(10)
    group = np.repeat(np.arange(10), [16] * 5 + [4] * 5)
    assert sorted(group[subset.indices].tolist()) == list(range(10))
    assert subset.weights == pytest.approx(np.repeat([0.16, 0.04], 5))


@pytest.mark.parametrize("size", [1, 3, 10, 25])
def test_estimates_are_right_on_average(size: int):
    scores = simulated(30, 100)
    answers = scores[:5].astype(np.float64)
    estimates = []
    for seed in range(250):
        fitted = ConfidenceStrata().fit(source(scores), np.random.default_rng(seed))
        subset = fitted.pick(size)
        estimates.append(fitted.estimate(subset, answers[:, subset.indices], "weighted"))
    spread = np.std(estimates, axis=0) / np.sqrt(250)
    assert np.abs(np.mean(estimates, axis=0) - answers.mean(axis=1)).max() < 4.5 * spread.max()


def test_strata_come_from_confidences_where_there_are_any():
    scores = simulated(12, 40)
    confidences = np.tile(np.linspace(0, 1, 40, dtype=np.float32), (12, 1))
    subset = (
        ConfidenceStrata().fit(source(scores, confidences=confidences), np.random.default_rng(0)).pick(10)
    )
    assert np.diff(subset.indices).max() <= 8
    assert subset.weights == pytest.approx(np.full(10, 0.1), abs=0.051)


@pytest.mark.parametrize("strata", [0, 101, 2.5, True, "ten"])
def test_the_number_of_strata_is_checked(strata: object):
    with pytest.raises(ValueError, match="strata"):
        ConfidenceStrata(strata=strata)
