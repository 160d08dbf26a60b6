import numpy as np
import pytest

from service.engine.selection.clusters import kmeans, represent


def test_well_separated_groups_are_the_clusters():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, size=80)
    centres = np.array([[0, 0], [10, 0], [0, 10], [10, 10]])
    labels, distances = kmeans(centres[group] + 0.1 * rng.normal(size=(80, 2)), 4, seed=1)
    assert len({*zip(group.tolist(), labels.tolist(), strict=True)}) == 4
    assert distances.max() < 1


def test_points_that_coincide_stay_together():
    points = np.repeat(np.random.default_rng(0).normal(size=(6, 2)), 4, axis=0)
    for k in (1, 3, 6, 20):
        labels, _ = kmeans(points, k, seed=0)
        assert labels.max() + 1 <= min(k, 6)
        assert (labels.reshape(6, 4) == labels.reshape(6, 4)[:, :1]).all()


def test_a_crowd_of_coincident_points_counts_by_its_number():
    points = np.concatenate((np.zeros((60, 1)), np.linspace(1, 2, 40)[:, None]))
    labels, distances = kmeans(points, 10, seed=0)
    assert labels.max() + 1 == 5
    subset = represent(labels, distances, 10, seed=0)
    assert (subset.indices < 60).sum() == 6
    assert subset.weights[:6] == pytest.approx(np.full(6, 0.1))


def test_representatives_are_the_nearest_with_the_share_of_their_cluster():
    labels = np.array([0, 0, 0, 0, 1, 1])
    distances = np.array([3.0, 1.0, 2.0, 9.0, 5.0, 4.0])
    one_each = represent(labels, distances, 2, seed=0)
    assert one_each.indices.tolist() == [1, 5]
    assert one_each.weights == pytest.approx([4 / 6, 2 / 6])
    three = represent(labels, distances, 3, seed=0)
    assert three.indices.tolist() == [1, 2, 5]
    assert three.weights == pytest.approx([1 / 3, 1 / 3, 1 / 3])
