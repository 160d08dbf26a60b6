"""What every registered method keeps, whatever the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.data.contracts import Fitted, Source, Subset
from service.engine.data.errors import Unsuitable
from service.engine.selection.registry import METHODS, create
from tests.engine.selection.sources import simulated, source

EVERY = pytest.mark.parametrize("name", METHODS)
WEIGHTED_MEANS = {"mean", "weighted"}
LEAST_MODELS = {"anchor_points": 10, "tinybenchmarks": 2, "optimal_design": 2}
DRAWN_WITHOUT_LOTS = {"diversity", "optimal_design"}
FITTED_ITERATIVELY = {"tinybenchmarks"}  # to a tolerance; a Matrix is sorted, so users see one order only


def fit(name: str, data: Source, seed: int = 0) -> Fitted:
    return create(name, {}).fit(data, np.random.default_rng(seed))


def assert_kept(subset: Subset, size: int, n_examples: int) -> None:
    assert subset.indices.shape == subset.weights.shape == (size,)
    assert (np.diff(subset.indices) > 0).all()
    assert subset.indices[0] >= 0
    assert subset.indices[-1] < n_examples
    assert (subset.weights > 0).all()
    assert subset.weights.sum() == pytest.approx(1)


@st.composite
def awkward_sources(draw: st.DrawFn) -> Source:
    """Few distinct columns, many constant or coincident ones, 0/1 or graded, with and without extras."""
    models = draw(st.integers(10, 14))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    distinct = rng.integers(0, 2, size=(models, draw(st.integers(1, 8)))).astype(np.float64)
    if draw(st.booleans()):
        distinct = rng.choice([0.0, 0.25, 0.5, 1.0], size=distinct.shape)
    constant = np.repeat(rng.choice([0.0, 1.0], size=draw(st.integers(0, 4)))[None], models, axis=0)
    columns = np.hstack((distinct, constant))
    scores = columns[:, rng.integers(columns.shape[1], size=draw(st.integers(1, 24)))]
    n = scores.shape[1]
    return source(
        scores.astype(np.uint8) if np.isin(scores, (0, 1)).all() else scores,
        strata=np.sort(rng.integers(0, draw(st.integers(1, 3)), size=n)).astype(np.int32),
        confidences=rng.random(scores.shape).astype(np.float32) if draw(st.booleans()) else None,
        embeddings=rng.normal(size=(n, 2)).astype(np.float32) if draw(st.booleans()) else None,
    )


@EVERY
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_the_size_asked_for_distinct_and_weighted_to_one(name: str, data: st.DataObject):
    examples = data.draw(awkward_sources())
    size = data.draw(st.integers(1, examples.n_examples))
    assert_kept(fit(name, examples).pick(size), size, examples.n_examples)


@EVERY
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_perfect_is_estimated_one_hopeless_zero_and_all_are_finite(name: str, data: st.DataObject):
    examples = data.draw(awkward_sources())
    size = data.draw(st.integers(1, examples.n_examples))
    fitted = fit(name, examples)
    subset = fitted.pick(size)
    answers = np.stack((np.ones(size), np.zeros(size), np.linspace(0, 1, size)))
    for estimator in METHODS[name].estimators:
        estimates = fitted.estimate(subset, answers, estimator)
        assert estimates.shape == (3,)
        assert np.isfinite(estimates).all()
        if estimator in WEIGHTED_MEANS:
            assert estimates[:2] == pytest.approx([1, 0])


@EVERY
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_all_examples_give_the_exact_mean(name: str, data: st.DataObject):
    examples = data.draw(awkward_sources())
    fitted = fit(name, examples)
    subset = fitted.pick(examples.n_examples)
    targets = np.random.default_rng(1).integers(0, 2, size=(5, examples.n_examples)).astype(np.float64)
    for estimator in METHODS[name].estimators:
        assert fitted.estimate(subset, targets, estimator) == pytest.approx(targets.mean(axis=1), abs=1e-6)


@EVERY
@pytest.mark.parametrize("size", [1, 7, 20, 60])
def test_a_choice_depends_on_data_and_seed_alone(name: str, size: int):
    examples = source(simulated(20, 60), strata=np.repeat(np.arange(3, dtype=np.int32), 20))
    fitted = fit(name, examples, seed=5)
    for other in (30, 2):
        fitted.pick(other)
    again, fresh = fitted.pick(size), fit(name, examples, seed=5).pick(size)
    assert again.indices.tolist() == fresh.indices.tolist()
    assert again.weights.tolist() == fresh.weights.tolist()


@pytest.mark.parametrize("name", [name for name in METHODS if name not in FITTED_ITERATIVELY])
def test_the_order_of_the_source_models_does_not_matter(name: str):
    scores = simulated(40, 60)
    shuffled = scores[np.random.default_rng(1).permutation(40)]
    for size in (3, 20):
        chosen = [fit(name, source(rows)).pick(size).indices.tolist() for rows in (scores, shuffled)]
        assert chosen[0] == chosen[1]


@pytest.mark.parametrize("name", [name for name in METHODS if name in DRAWN_WITHOUT_LOTS])
def test_permuted_examples_permute_a_choice_made_by_scores_alone(name: str):
    scores, order = simulated(60, 80), np.random.default_rng(2).permutation(80)
    for size in (5, 30):
        plain = fit(name, source(scores)).pick(size)
        permuted = fit(name, source(scores[:, order])).pick(size)
        assert sorted(order[permuted.indices].tolist()) == plain.indices.tolist()


@EVERY
@pytest.mark.parametrize("value", [0, 1])
def test_source_models_that_agree_on_everything_are_no_obstacle(name: str, value: int):
    examples = source(np.full((12, 9), value, dtype=np.uint8))
    for size in (1, 4, 9):
        assert_kept(fit(name, examples).pick(size), size, 9)


@EVERY
@pytest.mark.parametrize("models", [1, 2, 9])
def test_few_source_models_suffice_or_are_refused_with_the_number(name: str, models: int):
    examples = source(simulated(models, 30))
    if models < LEAST_MODELS.get(name, 1):
        with pytest.raises(Unsuitable, match=rf"\b{models}\b"):
            fit(name, examples)
    else:
        assert_kept(fit(name, examples).pick(8), 8, 30)


@EVERY
def test_one_example_is_a_benchmark(name: str):
    assert_kept(fit(name, source(simulated(12, 1))).pick(1), 1, 1)
