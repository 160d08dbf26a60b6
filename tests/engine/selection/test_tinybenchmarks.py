import numpy as np
import pytest

from service.engine.data.contracts import Fitted
from service.engine.data.errors import Unsuitable
from service.engine.numerics import irt
from service.engine.selection.tinybenchmarks import TinyBenchmarks
from tests.engine.selection.sources import simulated, source


def fitted(scores: np.ndarray, **options: int) -> Fitted:
    return TinyBenchmarks(**options).fit(source(scores), np.random.default_rng(0))


def test_coincident_examples_give_distinct_anchors_with_weight():
    # 20 examples with 4 distinct columns: plain k-means repeats anchors and leaves some without weight.
    subset = fitted(np.repeat(simulated(30, 4, seed=2), 5, axis=1)).pick(8)
    assert len(set(subset.indices.tolist())) == 8
    assert (subset.weights > 0).all()
    assert np.bincount(subset.indices // 5, weights=subset.weights) == pytest.approx(np.full(4, 0.25))


def test_an_anchor_stands_for_its_cluster():
    scores = simulated(200, 60)
    model = irt.fit(scores, 2)
    subset = fitted(scores, dimensions=2).pick(60)
    assert subset.weights == pytest.approx(np.full(60, 1 / 60))
    single = fitted(scores, dimensions=2).pick(1)
    points = np.column_stack((model.discrimination, model.difficulty))
    assert single.indices[0] == ((points - points.mean(axis=0)) ** 2).sum(axis=1).argmin()


def test_pirt_is_the_answers_given_and_the_chances_of_the_rest():
    scores = simulated(100, 50)
    method, model = fitted(scores, dimensions=2), irt.fit(scores, 2)
    subset = method.pick(12)
    answers = scores[:4, subset.indices].astype(np.float64)
    chances = model.probabilities(model.abilities(subset.indices, answers))
    rest = np.setdiff1d(np.arange(50), subset.indices)
    expected = (answers.sum(axis=1) + chances[:, rest].sum(axis=1)) / 50
    assert method.estimate(subset, answers, "pirt") == pytest.approx(expected)


def test_gpirt_lies_between_and_errs_less_than_the_weighted_answers():
    scores = simulated(260, 150)
    method = fitted(scores[:200], dimensions=3)
    targets = scores[200:].astype(np.float64)
    for size in (10, 50):
        subset = method.pick(size)
        answers = targets[:, subset.indices]
        weighted, pirt, mixed = (method.estimate(subset, answers, e) for e in ("weighted", "pirt", "gpirt"))
        assert (mixed >= np.minimum(weighted, pirt) - 1e-12).all()
        assert (mixed <= np.maximum(weighted, pirt) + 1e-12).all()
        errors = [np.abs(e - targets.mean(axis=1)).mean() for e in (weighted, pirt, mixed)]
        assert errors[2] < errors[0]


def test_all_right_on_the_subset_is_not_all_right_on_the_rest():
    method = fitted(simulated(100, 200))
    subset = method.pick(10)
    estimates = method.estimate(subset, np.stack((np.ones(10), np.zeros(10))), "pirt")
    assert 0.02 < estimates[1] < estimates[0] < 0.98


def test_graded_scores_are_taken_as_they_are():
    scores = np.round(simulated(60, 40) * 0.5 + np.random.default_rng(0).random((60, 40)) * 0.5, 3)
    method = fitted(scores, dimensions=2)
    subset = method.pick(15)
    answers = scores[:, subset.indices]
    assert np.abs(method.estimate(subset, answers, "pirt") - scores.mean(axis=1)).mean() < 0.05


def test_a_fit_that_does_not_converge_is_refused(monkeypatch: pytest.MonkeyPatch):
    cut = irt.Irt(np.zeros((9, 1)), np.zeros((9, 1)), np.zeros(9), 1000, converged=False)
    monkeypatch.setattr(irt, "fit", lambda scores, dimensions: cut)
    with pytest.raises(Unsuitable, match="did not converge in 1000 steps"):
        fitted(simulated(9, 9))


@pytest.mark.parametrize("dimensions", [0, 21, 1.5, True])
def test_the_number_of_dimensions_is_checked(dimensions: object):
    with pytest.raises(ValueError, match="dimensions"):
        TinyBenchmarks(dimensions=dimensions)
