from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sqlalchemy import Engine

from service.core.errors import InvalidRequest, NotFound
from service.engine.comparison import GateRule
from service.engine.data.matrix import Matrix
from service.store.records import MatrixRecord
from service.usecases.power import MatrixModels, PowerQuestion, PowerReport, ThresholdGate, examples_needed


def answer(db: Engine, among: MatrixModels | float, difference: float = 0.02, **more: Any) -> PowerReport:
    return examples_needed(db, PowerQuestion(difference, among, GateRule(0.0, 0.95, 0.8), **more))


def test_the_disagreement_of_a_matrix_is_the_median_of_its_pairs(
    db: Engine, benchmark: Matrix, stored: MatrixRecord
) -> None:
    found = answer(db, MatrixModels(stored.id))
    pairs = itertools.combinations(benchmark.scores.astype(float), 2)
    assert found.power.disagreement == pytest.approx(np.median([np.mean(a != b) for a, b in pairs]))
    assert found.power.benchmark == 40
    assert [at.size for at in found.power.by_size] == [10, 25]
    assert found.near is not None
    assert (found.measured, found.threshold, found.check) == (None, None, None)


def test_a_threshold_fails_as_often_as_the_binomial_says(db: Engine) -> None:
    found = answer(db, 0.2, threshold=ThresholdGate(0.7, 50, 0.75, 0.6))
    assert found.threshold is not None
    assert found.threshold.rates.false_fail == pytest.approx(binom.cdf(34, 50, 0.75))
    assert found.threshold.rates.miss == pytest.approx(1 - binom.cdf(34, 50, 0.6))
    assert binom.cdf(round(50 * found.threshold.suggested) - 1, 50, 0.75) <= 0.01
    assert found.threshold.history is None


def test_a_check_is_planned_by_its_own_rule(db: Engine) -> None:
    rule = GateRule(0.0, 0.9, 0.8)
    found = answer(db, 0.2, 0.05, check=rule, sizes=[400])
    assert found.check is not None
    planned, used = found.check
    assert used == rule
    assert [at.size for at in planned.by_size] == [400]


@pytest.mark.parametrize(
    ("among", "more", "field"),
    [
        (MatrixModels("", names=["m00", "nobody"]), {}, "/models/1"),
        (MatrixModels("", names=["m00"]), {}, "/models"),
        (MatrixModels(""), {"sizes": [10, 41]}, "/sizes/1"),
        (0.01, {}, "/difference"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_field(
    db: Engine, stored: MatrixRecord, among: MatrixModels | float, more: dict[str, Any], field: str
) -> None:
    if isinstance(among, MatrixModels):
        among = MatrixModels(stored.id, names=among.names)
    with pytest.raises(InvalidRequest) as refused:
        answer(db, among, **more)
    assert refused.value.faults[0].pointer == field


def test_a_job_that_is_not_there_is_not_found(db: Engine) -> None:
    with pytest.raises(NotFound):
        answer(db, 0.2, job_id="0198c0de-7a57-7e57-8000-00000000000f")
