"""Gates where the answers say little of their own spread: near the end of the range, and of few clusters."""

import numpy as np
import pytest

from service.engine.comparison import Design, GateRule, SampledEvidence, Setting, compare
from service.engine.data.contracts import Source
from service.engine.prediction.ability_model import AbilityModel, fit_ability_model

EXAMPLES = 1000
IMPROVEMENT = GateRule(preset="improvement", margin=0.0, confidence=0.9)


@pytest.fixture(scope="module")
def made() -> tuple[AbilityModel, np.ndarray, np.ndarray]:
    """A model of 40 sources, their mean, and the log-odds of each example at ability 0."""
    rng = np.random.default_rng(0)
    easiness = rng.normal(1.5, 1.5, EXAMPLES)
    abilities = rng.normal(0, 1, (40, 1))
    sources = (rng.random((40, EXAMPLES)) < 1 / (1 + np.exp(-easiness - abilities))).astype(np.uint8)
    model = fit_ability_model(Source(sources, np.zeros(EXAMPLES, dtype=np.int32)))
    return model, sources.mean(axis=0), easiness


@pytest.mark.parametrize("size", [25, 50, 100])
def test_no_improvement_is_found_between_equal_models(
    made: tuple[AbilityModel, np.ndarray, np.ndarray], size: int
):
    model, mean, easiness = made
    rng = np.random.default_rng(size)
    chance = 1 / (1 + np.exp(-easiness - 4))
    assert 0.96 < chance.mean() < 0.99
    passed = []
    for _ in range(150):
        one = (rng.random(EXAMPLES) < chance).astype(float)
        # As many wrong answers on as hard examples, but others.
        wrong = rng.choice(EXAMPLES, int((1 - one).sum()), replace=False, p=(1 - chance) / (1 - chance).sum())
        other = np.ones(EXAMPLES)
        other[wrong] = 0
        chosen = np.sort(rng.choice(EXAMPLES, size, replace=False))
        evidence = SampledEvidence(chosen, np.full(size, size / EXAMPLES), EXAMPLES, model, mean)
        setting = Setting("full_benchmark", evidence=evidence, baseline=one)
        found = compare(one[chosen], other[chosen], Design.random(size, EXAMPLES), IMPROVEMENT, setting)
        passed.append(found.verdict == "pass")
    assert np.mean(passed) <= 0.05 + 2 * (0.05 * 0.95 / 150) ** 0.5


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_no_drop_is_called_detectable_that_the_interval_of_few_clusters_does_not_show(groups: int):
    rng = np.random.default_rng(groups)
    for _ in range(40):
        one, other = (rng.random((2, 80)) < 0.8).astype(float)
        setting = Setting(clusters=[str(i * groups // 80) for i in range(80)])
        found = compare(one, other, Design.random(80, 2000), GateRule(confidence=0.9), setting)
        drop = found.gate.smallest_detectable_drop
        assert drop is None or drop >= found.interval[1] - found.difference


def test_a_mean_of_equal_scores_is_that_score():
    for size in range(2, 300):
        assert Design.random(size, 1000).mean(np.full(size, 0.1)) == 0.1
        assert Design.random(size, 1000).mean(np.ones(size)) == 1
