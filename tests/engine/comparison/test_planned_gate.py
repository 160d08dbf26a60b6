"""A planned gate: what it says is what comparisons of other models then do."""

import numpy as np
import pytest

from service.engine.comparison import Design, GateRule, SampledEvidence, Setting, compare
from service.engine.comparison.planned_gate import planned_gate
from service.engine.data.contracts import Source
from service.engine.prediction.ability_model import fit_ability_model
from tests.engine.made import answers

RULE = GateRule(confidence=0.9, preset="regression")


def test_the_plan_holds_for_models_it_was_not_made_with():
    scores = answers(160, 500, seed=8)
    source = Source(scores[:60], np.zeros(500, dtype=np.int32))
    plan = planned_gate(0.1, [50, 100, 200], RULE, total=500, disagreement=0.4, source=source)
    model, mean = fit_ability_model(source), source.scores.mean(axis=0)
    rng, full, found = np.random.default_rng(0), scores.mean(axis=1), []
    drop = plan.by_size[1].rates.smallest_detectable_drop
    gaps = full[60:, None] - full[None, 60:]
    pairs = np.argwhere(np.abs(gaps - drop) < 0.01) + 60
    for first, second in rng.permutation(pairs):
        chosen = np.sort(rng.permutation(500)[:100])
        evidence = SampledEvidence(chosen, np.full(100, 0.2), 500, model, mean)
        setting = Setting("full_benchmark", evidence=evidence, baseline=scores[first].astype(float))
        both = scores[[first, second]][:, chosen].astype(float)
        found.append(compare(*both, Design.random(100, 500), RULE, setting).verdict == "fail")
    assert np.mean(found) == pytest.approx(0.8, abs=0.07)


def test_without_models_the_disagreement_decides():
    plan = planned_gate(0.05, [100, 400], RULE, total=None, disagreement=0.2)
    assert plan.by_size[0].estimator == "plain"
    assert plan.by_size[0].standard_error == pytest.approx((0.2 / 100) ** 0.5)
    assert plan.size == pytest.approx((1.6449 + 0.8416) ** 2 * 0.2 / 0.05**2, rel=0.01)


def test_a_drop_only_the_whole_benchmark_shows_has_no_size():
    assert planned_gate(0.001, [50, 100], RULE, total=100, disagreement=0.3).size is None
