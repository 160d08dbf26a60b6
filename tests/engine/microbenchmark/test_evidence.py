"""What a stored selection says about its own estimates."""

from __future__ import annotations

import numpy as np
import pytest

from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.microbenchmark.select import run
from service.engine.planning.plan import select_plan


def matrix(models: int = 30, examples: int = 60) -> Matrix:
    """Confidences half as high as the scores are, so that an estimate from them is half the score."""
    rng = np.random.default_rng(3)
    chance = 1 / (1 + np.exp(rng.normal(size=examples)[None] - np.linspace(-1, 2, models)[:, None]))
    scores = (rng.random((models, examples)) < chance).astype(np.uint8)
    names = [f"m{i:02}" for i in range(models)], [f"e{j:02}" for j in range(examples)]
    return Matrix.build(*names, scores, confidences=(chance / 2).astype(np.float32))


def chosen(**settings):
    table = matrix()
    plan = select_plan({"size": 30, **settings}, Outline.of(table))
    return run(table, plan, lambda _: None)


def test_errors_are_measured_for_confidences_and_for_scores():
    found = chosen(method="anchor_points")
    assert found["calibration"]["bias"] < -0.15
    assert abs(found["calibration_of_scores"]["bias"]) < 0.05


@pytest.mark.parametrize("method", ["random", "confidence_strata"])
def test_methods_that_take_scores_have_one_measurement(method):
    assert chosen(method=method)["calibration_of_scores"] is None


def test_an_estimator_a_selection_cannot_carry_is_measured_by_its_weights():
    weighted, irt = (chosen(method="tinybenchmarks", estimator=name) for name in ("weighted", "gpirt"))
    assert irt["examples"] == weighted["examples"]
    assert irt["calibration"]["models"] == weighted["calibration"]["models"] == 30
    assert irt["calibration"]["deviation"] == pytest.approx(weighted["calibration"]["deviation"], rel=0.5)
