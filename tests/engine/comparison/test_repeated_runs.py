"""A model against itself, run twice: fails no more often than promised, on samples and chosen subsets."""

import numpy as np
import pytest

from service.engine.comparison import (
    AbilityEstimator,
    Design,
    DesignedEvidence,
    GateRule,
    SampledEvidence,
    Setting,
    compare,
)
from service.engine.data.contracts import Source
from service.engine.prediction.ability_model import fit_ability_model
from service.engine.selection.optimal_design import OptimalDesign
from tests.engine.made import skills

RULE = GateRule(confidence=0.9, preset="regression")
CHANCE = skills(240, 300, seed=5)
RUNS = (np.random.default_rng(6).random((2, 240, 300)) < CHANCE).astype(np.uint8)
SOURCE = Source(RUNS[0, :40], np.zeros(300, dtype=np.int32))
MODEL = fit_ability_model(SOURCE)
NOISE = float((CHANCE * (1 - CHANCE)).mean())


@pytest.mark.parametrize("known", [True, False], ids=["baseline known in full", "on the examples only"])
@pytest.mark.parametrize("size", [50, 100])
@pytest.mark.parametrize("designed", [True, False], ids=["designed", "random"])
def test_two_runs_of_a_model_rarely_differ(designed, size, known):
    rng, failed = np.random.default_rng(0), []
    chosen = OptimalDesign().fit(SOURCE, rng).pick(size).indices
    for model in range(40, 240):
        if not designed:
            chosen = np.sort(rng.permutation(300)[:size])
        evidence = (
            DesignedEvidence(AbilityEstimator(MODEL, chosen), SOURCE)
            if designed
            else SampledEvidence(chosen, np.full(size, size / 300), 300, MODEL, SOURCE.scores.mean(axis=0))
        )
        first, second = RUNS[:, model].astype(float)
        baseline = first if known else None
        setting = Setting("runs", evidence=evidence, baseline=baseline, run_variance=NOISE)
        found = compare(first[chosen], second[chosen], Design.random(size, 300), RULE, setting)
        failed.append(found.verdict == "fail")
    assert np.mean(failed) <= 0.05 + 2 * (0.05 * 0.95 / 200) ** 0.5
