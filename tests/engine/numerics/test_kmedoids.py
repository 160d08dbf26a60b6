from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from service.engine.numerics.kmedoids import KMedoids
from service.engine.selection.anchor_points import correlation_distances
from tests.engine.selection.sources import simulated

Distances = NDArray[np.float32]


def plane(n: int, seed: int, dimensions: int = 2) -> Distances:
    points = np.random.default_rng(seed).normal(size=(n, dimensions))
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2)).astype(np.float32)


def correlations(n: int, seed: int) -> Distances:
    return correlation_distances(simulated(200, n, seed).astype(np.float32))


def loss(distances: Distances, medoids: NDArray[np.integer]) -> float:
    return float(distances[medoids].min(axis=0).sum(dtype=np.float64))


def alternating(distances: Distances, k: int, rng: np.random.Generator) -> float:
    """Loss of the textbook's alternation of assignment and re-centring, then first-improvement swaps."""
    medoids = rng.choice(len(distances), k, replace=False)
    for _ in range(100):
        labels = distances[medoids].argmin(axis=0)
        members = [np.flatnonzero(labels == c) for c in range(k)]
        moved = np.array([m[distances[np.ix_(m, m)].sum(axis=0).argmin()] for m in members])
        if (moved == medoids).all():
            break
        medoids = moved
    best, improved = loss(distances, medoids), True
    while improved:
        improved = False
        for place in range(k):
            others = distances[np.delete(medoids, place)].min(axis=0)
            trials = np.minimum(distances, others).sum(axis=1, dtype=np.float64)
            if trials.min() < best - 1e-6 * best:
                medoids[place], best, improved = trials.argmin(), trials.min(), True
    return best


@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_of_small_problems(seed: int):
    distances = plane(11, seed)
    for k in (1, 2, 3, 4):
        best = min(loss(distances, np.array(medoids)) for medoids in combinations(range(11), k))
        assert KMedoids(distances).cluster(k, np.random.default_rng(0)).loss == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(("kind", "k"), [(plane, 8), (plane, 30), (correlations, 8), (correlations, 30)])
def test_within_one_percent_of_the_best_of_twenty_restarts_of_another_algorithm(kind, k: int):
    distances, rng = kind(300, 3), np.random.default_rng(0)
    best = min(alternating(distances, k, rng) for _ in range(20))
    clustering = KMedoids(distances).cluster(k, np.random.default_rng(1))
    assert clustering.converged
    assert clustering.loss <= 1.01 * best


def test_no_swap_is_left_that_lowers_the_loss():
    distances = plane(60, 7, dimensions=4)
    clustering = KMedoids(distances).cluster(6, np.random.default_rng(0), restarts=0)
    for place in range(6):
        others = distances[np.delete(clustering.medoids, place)].min(axis=0)
        assert np.minimum(distances, others).sum(axis=1).min() >= clustering.loss * (1 - 2e-6)


@pytest.mark.parametrize("k", [1, 2, 5, 39, 40])
def test_labels_and_loss_are_those_of_the_nearest_medoids(k: int):
    distances = plane(40, 1)
    clustering = KMedoids(distances).cluster(k, np.random.default_rng(0))
    assert (np.diff(clustering.medoids) > 0).all()
    nearest = distances[clustering.medoids].min(axis=0)
    assert distances[clustering.medoids[clustering.labels], np.arange(40)] == pytest.approx(nearest)
    assert clustering.labels[clustering.medoids].tolist() == list(range(k))
    assert clustering.loss == pytest.approx(nearest.sum(dtype=np.float64))


def test_coincident_points_still_give_k_clusters_with_members():
    distances = np.repeat(np.repeat(plane(4, 0), 5, axis=0), 5, axis=1)
    clustering = KMedoids(distances).cluster(8, np.random.default_rng(0))
    assert len(set(clustering.medoids.tolist())) == 8
    assert np.bincount(clustering.labels, minlength=8).min() >= 1
    assert clustering.loss == 0


def test_clusterings_do_not_depend_on_earlier_ones():
    distances = plane(80, 2)
    used = KMedoids(distances)
    for k in (30, 3):
        used.cluster(k, np.random.default_rng(k))
    again, fresh = (model.cluster(10, np.random.default_rng(0)) for model in (used, KMedoids(distances)))
    assert again.medoids.tolist() == fresh.medoids.tolist()


def test_the_greedy_start_takes_the_steepest_step_each_time():
    distances = plane(50, 4)
    expected: list[int] = []
    nearest = np.full(50, np.inf)
    for _ in range(12):
        losses = np.minimum(distances, nearest).sum(axis=1, dtype=np.float64)
        expected.append(int(losses.argmin()))
        nearest = np.minimum(nearest, distances[expected[-1]])
    assert KMedoids(distances).build(12).tolist() == expected


def test_a_cut_search_says_so():
    distances = plane(300, 0, dimensions=3)
    assert not KMedoids(distances).cluster(30, np.random.default_rng(0), restarts=0, max_sweeps=1).converged


@pytest.mark.timeout(20)
def test_gains_that_are_rounding_do_not_come_round_for_ever():
    """Two medoids within rounding of each other: each swap back seems to gain some 1e-7 of the rest."""
    far, near = np.float32(1.4082482), np.float32(5.9604645e-08)
    distances = np.zeros((7, 7), dtype=np.float32)
    alike = np.array([0, 2, 3, 5, 6])
    distances[np.ix_(alike, [1, 4])] = far
    distances[np.ix_([1, 4], alike)] = far
    distances[1, 4] = distances[4, 1] = near

    for seed in range(50):
        found = KMedoids(distances).cluster(2, np.random.default_rng(seed))
        assert found.loss <= 2 * near
        assert found.converged
