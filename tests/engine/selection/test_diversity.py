from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from service.engine.selection.diversity import Diversity
from tests.engine.selection.sources import simulated, source


def pick(points: NDArray[np.float64], size: int) -> list[int]:
    data = source(simulated(12, len(points)), embeddings=points.astype(np.float32))
    return Diversity().fit(data, np.random.default_rng(0)).pick(size).indices.tolist()


def kernel(points: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    return np.exp(-squares / squares.mean())


@pytest.mark.parametrize("seed", range(8))
def test_each_step_takes_the_largest_determinant(seed: int):
    points = np.random.default_rng(seed).normal(size=(10, 3)).astype(np.float32).astype(np.float64)
    centre = int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmin())
    chosen, matrix = [centre], kernel(points)
    for size in (2, 3, 4):
        rest = [j for j in range(10) if j not in chosen]
        volumes = [np.linalg.det(matrix[np.ix_([*chosen, j], [*chosen, j])]) for j in rest]
        chosen.append(rest[int(np.argmax(volumes))])
        assert pick(points, size) == sorted(chosen)


@pytest.mark.parametrize("seed", range(8))
def test_three_of_ten_come_near_the_most_probable_three(seed: int):
    points = np.random.default_rng(seed).normal(size=(10, 3))
    matrix = kernel(points)
    volumes = sorted(np.linalg.det(matrix[np.ix_(s, s)]) for s in combinations(range(10), 3))
    greedy = pick(points, 3)
    found = np.linalg.det(matrix[np.ix_(greedy, greedy)])
    assert found >= 0.6 * volumes[-1]
    assert found >= volumes[int(0.8 * len(volumes))]


def test_beyond_the_rank_it_starts_anew_with_one_of_each():
    points = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 5, axis=0)
    for rounds in (1, 2, 5):
        chosen = np.array(pick(points, 4 * rounds))
        assert np.bincount(chosen // 5).tolist() == [rounds] * 4


def test_larger_subsets_contain_the_smaller():
    fitted = Diversity().fit(source(simulated(30, 70)), np.random.default_rng(0))
    subsets = [set(fitted.pick(size).indices.tolist()) for size in (3, 20, 70)]
    assert subsets[0] < subsets[1] < subsets[2]


def test_examples_the_same_models_do_well_on_are_not_both_chosen():
    rng = np.random.default_rng(0)
    skills = rng.integers(0, 2, size=(50, 5))
    scores = np.repeat(skills, 6, axis=1)
    scores = np.where(rng.random(scores.shape) < 0.02, 1 - scores, scores).astype(np.uint8)
    chosen = Diversity().fit(source(scores), rng).pick(5).indices
    assert sorted((chosen // 6).tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("components", [0, 101, 3.0, False])
def test_the_number_of_components_is_checked(components: object):
    with pytest.raises(ValueError, match="components"):
        Diversity(components=components)


@pytest.mark.parametrize("models", [12, 16, 20])
def test_another_order_of_adding_changes_no_choice(models: int):
    scores = simulated(models, 60)

    def chosen(rows: NDArray[np.int64]) -> list[int]:
        fitted = Diversity().fit(source(scores[rows]), np.random.default_rng(0))
        return fitted.pick(9).indices.tolist()

    for seed in range(5):
        order = np.random.default_rng(seed).permutation(models)
        assert chosen(order) == chosen(np.arange(models))
