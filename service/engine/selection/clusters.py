"""Choosing from clusters of examples: every cluster represented, weighted by its share."""

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

    Coincident points that make up two k-ths of all, or more, are a cluster and count
    as so many of the k: they get that many of k draws in proportion, where k-means
    would spend those on telling rare points apart and leave one example with the
    weight of all.

    Parameters
    ----------
    points : ndarray, shape (N, D)
        Coordinates; differences below 1e-6 do not count.
    k : int
        Clusters wanted; fewer come back where points coincide.
    seed : int
        Of the k-means++ start.

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
        # One thread: several add up the means in no fixed order, and spin while they wait.
        with _threads().limit(limits=1, user_api="openmp"):
            model.fit(distinct[rest], sample_weight=counts[rest])
        labels[rest] = len(distinct) + model.labels_
        away[rest] = ((distinct[rest] - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
    place = place.reshape(-1)
    return np.unique(labels[place], return_inverse=True)[1].astype(np.int64), away[place]


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def represent(labels: NDArray[np.integer], ranking: NDArray[np.number], size: int, seed: int) -> Subset:
    """`size` examples, at least one of each cluster, in proportion to the clusters.

    Parameters
    ----------
    labels : ndarray of int, shape (N,)
        Cluster of each example, 0 … c − 1, none empty, c ≤ `size`.
    ranking : ndarray, shape (N,)
        Which of a cluster's examples go first: those with the lowest value.
    size : int
        Examples to choose, c ≤ size ≤ N.
    seed : int
        Of the lots between clusters with an equal claim.

    Returns
    -------
    Subset
        Each cluster's share of the examples spread evenly over its chosen ones.
    """
    sizes = np.bincount(labels)
    draws = largest_remainder(size, sizes, sizes, np.random.default_rng(seed), least=1)
    by_cluster = np.lexsort((ranking, labels))
    place = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.sort(by_cluster[place < draws[labels[by_cluster]]])
    return Subset(chosen, (sizes / draws / len(labels))[labels[chosen]])
