"""MDAD for new questions by size: of subsets of half of the examples, then of subsets of all.

See `measures.new_questions` for the formulas. Both kinds of trials enter the standard errors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.engine.measures.local_probit import Floats
from service.engine.measures.new_questions import log_error, without_noise
from service.engine.measures.resolution import PairSpread
from service.engine.measures.size_curve import SizeCurve


def of_half(raw: SizeCurve, spread: PairSpread, heldout: int, probability: float) -> SizeCurve:
    """MDAD of subsets of one half for new questions; sizes below half of the resolution are left out.

    Parameters
    ----------
    raw : SizeCurve
        MDADs against the held-out half.
    """
    measured = np.exp(raw.log_mdad)
    mdad = without_noise(measured, spread, heldout, probability)
    kept = np.flatnonzero(np.isfinite(mdad))
    factor = log_error(measured[kept], mdad[kept], spread, heldout)
    return SizeCurve(
        raw.sizes[kept],
        np.log(mdad[kept]),
        factor[:, None, None] * raw.influence[kept],
        raw.clusters,
        raw.n_examples,
        falls=False,
    )


def of_whole(
    same: SizeCurve,
    half_new: SizeCurve,
    half_same: SizeCurve,
    sizes: NDArray[np.int64],
    spread: PairSpread,
    probability: float,
) -> SizeCurve:
    """MDAD of subsets of all examples for new questions: m_same² + c · resolution².

    Parameters
    ----------
    same : SizeCurve
        Of trials with nothing held out.
    half_new, half_same : SizeCurve
        Of trials with half of the examples held out: freed of noise, and on the half chosen from.
    sizes : ndarray of int64
        At which to give it.
    """
    resolution, half = spread.resolution(probability), spread.resolution(probability, half_same.n_examples)
    shares, share_influence = _shares(half_new, half_same, half)
    places = np.log(np.append(half_new.sizes, spread.n_examples))
    at = np.interp(np.log(sizes), places, np.arange(len(places)))
    left = np.minimum(at.astype(int), len(places) - 2) if len(places) > 1 else np.zeros(len(sizes), dtype=int)
    weight = (at - left)[:, None, None]
    square = np.exp(2 * same.at(sizes))
    # A part of the benchmark tells no more on new questions than all of it; below that is noise of trials.
    found = np.maximum(
        square + resolution**2 * np.interp(np.log(sizes), places, np.append(shares, 1.0)), resolution**2
    )
    own = (square / found)[:, None, None] * np.stack([same.influence_at(n) for n in sizes])
    padded = np.concatenate((share_influence, np.zeros((1, *half_same.influence.shape[1:]))))
    right = np.minimum(left + 1, len(places) - 1)
    other = (1 - weight) * padded[left] + weight * padded[right]
    other *= (resolution**2 / (2 * found))[:, None, None]
    return SizeCurve(
        sizes,
        0.5 * np.log(found),
        np.concatenate((own, other), axis=1),
        same.clusters.joined(half_same.clusters),
        same.n_examples,
        falls=False,
    )


def with_resolution(same: SizeCurve, resolution: float) -> SizeCurve:
    """MDAD for new questions of random draws: c = 1 at every size."""
    square = np.exp(2 * same.log_mdad)
    found = square + resolution**2
    influence = (square / found)[:, None, None] * same.influence
    return SizeCurve(same.sizes, 0.5 * np.log(found), influence, same.clusters, same.n_examples, falls=False)


def _shares(half_new: SizeCurve, half_same: SizeCurve, resolution: float) -> tuple[Floats, Floats]:
    """C at the sizes of half_new, (S,), from 0 to 1, and its influences, (S, R, T)."""
    new, same = np.exp(2 * half_new.log_mdad), np.exp(2 * half_same.at(half_new.sizes))
    influence = np.empty_like(half_new.influence)
    for at, size in enumerate(half_new.sizes):
        influence[at] = 2 * (new[at] * half_new.influence[at] - same[at] * half_same.influence_at(size))
    return np.clip((new - same) / resolution**2, 0, 1), influence / resolution**2
