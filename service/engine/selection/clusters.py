"""Chooses from clusters of examples: every cluster is represented and weighted by its share."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import ThreadpoolController

from service.engine.data.allocation import largest_remainder
from service.engine.data.contracts import Subset

_DECIMALS = 6


def kmeans(points: NDArray[np.floating], k: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Cluster points into at most k non-empty clusters; coincident points stay together.

    Coincident points that make up 2/k or more of all points form a cluster and count as several of the k
    clusters, in proportion to their share. Otherwise k-means would use these clusters to separate rare
    points, and one example would get the weight of all coincident points.

    Parameters
    ----------
    points : ndarray, shape (N, D)
        Coordinates; differences below 1e-6 do not count.
    k : int
        Number of clusters; the result has fewer if points coincide.
    seed : int
        Seed of the k-means++ start.

    Returns
    -------
    labels : ndarray of int64, shape (N,)
        Cluster of each point, 0 … c − 1 with c ≤ k, none empty.
    distances : ndarray, shape (N,)
        Squared distance of each point to the mean of its cluster.
    """
    distinct, place, counts = np.unique(
        np.round(points, _DECIMALS), axis=0, return_inverse=True, return_counts=True
    )
    due = counts * k // len(points)
    rest = np.flatnonzero(due < 2)
    clusters = k - int(due[due >= 2].sum())
    labels, away = np.arange(len(distinct)), np.zeros(len(distinct))
    if len(rest) > clusters:
        model = KMeans(clusters, n_init=1, random_state=seed)
        # One thread: several threads would sum the means in no fixed order, and spin while they wait.
        with _threads().limit(limits=1, user_api="openmp"):
            model.fit(distinct[rest], sample_weight=counts[rest])
        labels[rest] = len(distinct) + model.labels_
        away[rest] = ((distinct[rest] - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
    place = place.reshape(-1)
    # What is equally near must stay so: processors differ in the last digits.
    return np.unique(labels[place], return_inverse=True)[1].astype(np.int64), away.round(12)[place]


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def represent(labels: NDArray[np.integer], ranking: NDArray[np.number], size: int, seed: int) -> Subset:
    """Choose `size` examples in proportion to the clusters, at least one from each.

    Parameters
    ----------
    labels : ndarray of int, shape (N,)
        Cluster of each example, 0 … c − 1, none empty, c ≤ `size`.
    ranking : ndarray, shape (N,)
        The examples with the lowest values are chosen first within a cluster.
    size : int
        Examples to choose, c ≤ size ≤ N.
    seed : int
        Seed to break ties between clusters.

    Returns
    -------
    Subset
        The weight of each cluster, its share of the examples, is divided equally among its chosen examples.
    """
    sizes = np.bincount(labels)
    draws = largest_remainder(size, sizes, sizes, np.random.default_rng(seed), least=1)
    by_cluster = np.lexsort((ranking, labels))
    place = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.sort(by_cluster[place < draws[labels[by_cluster]]])
    return Subset(chosen, (sizes / draws / len(labels))[labels[chosen]])
