"""Random and stratified draws: uniform, exactly as many as asked for, weighted to be unbiased."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.engine.data.contracts import Source, Subset
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.microbenchmark import select
from service.engine.planning.plan import select_plan
from service.engine.selection.registry import METHODS, create, defaults
from service.engine.selection.stratified import pools
from tests.engine import made

ALLOCATIONS = ("proportional", "equal")


def source(strata: list[int]) -> Source:
    return Source(np.zeros((0, len(strata)), dtype=np.uint8), np.array(strata, dtype=np.int32))


def stratified(strata: list[int], size: int, allocation: str, seed: int = 0) -> Subset:
    method = create("stratified", {"allocation": allocation})
    return method.fit(source(strata), np.random.default_rng(seed)).pick(size)


strata_sizes = st.lists(st.integers(1, 30), min_size=1, max_size=12)


def test_every_subset_is_as_likely() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(6000):
        fitted = create("random", {}).fit(source([0] * 5), np.random.default_rng(seed))
        chosen = tuple(fitted.pick(2).indices.tolist())
        counts[chosen] = counts.get(chosen, 0) + 1
    assert sorted(counts) == list(combinations(range(5), 2))
    expected = 600
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 27.9  # χ²(9) at 0.001


@given(strata_sizes, st.sampled_from(ALLOCATIONS), st.data())
def test_exactly_the_size_distinct_and_weights_sum_to_one(
    sizes: list[int], allocation: str, data: st.DataObject
) -> None:
    strata = np.repeat(np.arange(len(sizes)), sizes).tolist()
    size = data.draw(st.integers(1, len(strata)))
    subset = stratified(strata, size, allocation)
    assert len(np.unique(subset.indices)) == size
    assert (np.diff(subset.indices) > 0).all()
    assert (subset.weights > 0).all()
    assert subset.weights.sum() == pytest.approx(1, abs=1e-12)


@given(strata_sizes, st.sampled_from(ALLOCATIONS), st.data())
def test_draws_stay_within_their_pools(sizes: list[int], allocation: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, sum(sizes)))
    pool_of, draws = pools(np.array(sizes), size, allocation)
    capacities = np.bincount(pool_of, weights=sizes)
    assert draws.sum() == size
    assert (draws >= 1).all()
    assert (draws <= capacities).all()


@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_unbiased_on_unequal_subtasks(allocation: str) -> None:
    # The subtasks' answers differ: 100 right, 10 wrong. Unweighted equal draws would say 0.50.
    strata = [0] * 100 + [1] * 10
    truth = np.array([1.0] * 100 + [0.0] * 10)
    for size in (1, 2, 7, 20, 110):
        estimates = [
            float(subset.weights @ truth[subset.indices])
            for subset in (stratified(strata, size, allocation, seed) for seed in range(400))
        ]
        slack = 4 * np.std(estimates) / 20 + 1e-12
        assert np.mean(estimates) == pytest.approx(100 / 110, abs=slack)


@pytest.mark.parametrize("allocation", ALLOCATIONS)
@pytest.mark.parametrize("size", [1, 5, 6, 10])
def test_strata_without_a_draw_are_pooled_not_dropped(size: int, allocation: str) -> None:
    # 5 × 16 + 5 × 4 and 9 × 11 + 1: the public code estimates a perfect model 0.80, or returns 9 of 5.
    for sizes in ([16] * 5 + [4] * 5, [11] * 9 + [1]):
        strata = np.repeat(np.arange(10), sizes).tolist()
        subset = stratified(strata, size, allocation)
        assert len(subset.indices) == size
        assert float(subset.weights @ np.ones(size)) == pytest.approx(1, abs=1e-12)


def test_proportional_is_proportional_and_equal_is_equal() -> None:
    sizes = np.array([60, 30, 10])
    assert pools(sizes, 20, "proportional")[1].tolist() == [12, 6, 2][::-1]
    assert sorted(pools(sizes, 21, "equal")[1].tolist()) == [7, 7, 7]


def test_equal_hands_on_what_a_small_subtask_cannot_give() -> None:
    pool_of, draws = pools(np.array([60, 30, 4]), 30, "equal")
    assert sorted(draws.tolist()) == [4, 13, 13]
    assert draws[pool_of[2]] == 4


def test_without_subtasks_stratified_is_random() -> None:
    for allocation in ALLOCATIONS:
        fits = [
            create(*method).fit(source([0] * 40), np.random.default_rng(9)).pick(7)
            for method in (("random", {}), ("stratified", {"allocation": allocation}))
        ]
        np.testing.assert_array_equal(fits[0].indices, fits[1].indices)
        np.testing.assert_allclose(fits[0].weights, fits[1].weights)


def test_unknown_options_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no option 'alocation'; it takes allocation"):
        create("stratified", {"alocation": "equal"})
    with pytest.raises(ValueError, match="proportional"):
        create("stratified", {"allocation": "odd"})
    with pytest.raises(ValueError, match="it takes none"):
        create("random", {"x": 1})
    with pytest.raises(ValueError, match="known are random, stratified"):
        create("nonsense", {})


def test_every_method_has_defaults_it_accepts() -> None:
    for name in METHODS:
        create(name, defaults(name))


def chosen(data: Matrix, **settings: object) -> dict[str, object]:
    return select.run(data, select_plan(settings, Outline.of(data)), made.silent)


def test_select_names_examples_weights_and_subtasks() -> None:
    data = made.matrix(made.answers(12, 40), [f"s{j % 3}" for j in range(40)])
    result = chosen(data, method="stratified", size=9)
    examples = result["examples"]
    assert [e["id"] for e in examples] == sorted(e["id"] for e in examples)
    assert len(examples) == 9
    assert sum(e["weight"] for e in examples) == pytest.approx(1)
    for example in examples:
        assert example["subtask"] == f"s{int(example['id'][1:]) % 3}"
    assert result["source_models"] == list(data.models)


def test_select_depends_on_the_seed_and_not_on_the_upload() -> None:
    scores = made.answers(12, 40)
    data = made.matrix(scores)
    order = np.random.default_rng(0).permutation(40)
    shuffled = Matrix.build(data.models, [data.examples[j] for j in order], scores[:, order])
    assert chosen(data, method="random", size=9) == chosen(shuffled, method="random", size=9)
    assert chosen(data, method="random", size=9) != chosen(data, method="random", size=9, seed=1)


def test_select_everything() -> None:
    data = made.matrix(made.answers(12, 40))
    result = chosen(data, method="random", size=40)
    assert [e["id"] for e in result["examples"]] == list(data.examples)
    assert result["stability"] == 1
    assert {e["subtask"] for e in result["examples"]} == {None}
