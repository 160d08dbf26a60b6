"""A random sample of the examples in which informative ones are more likely."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.engine.data.errors import Unsuitable
from service.engine.prediction.ability_model import AbilityModel
from service.engine.prediction.ability_prior import Expect
from service.engine.prediction.shrinkage import Floats

_ABILITIES: dict[Expect, tuple[float, ...]] = {"like": (-1.0, 0.0, 1.0), "better": (0.0, 2.0, 4.0)}
_EVEN = 0.3
"""Part of the size measure that is equal for all examples: no probability comes near 0."""


def informative_sample(
    model: AbilityModel, size: int, start: float, include: NDArray[np.integer], expect: Expect
) -> tuple[NDArray[np.int64], Floats]:
    """Examples, ascending, and the probability with which each was to be chosen.

    A systematic sample in order of difficulty, with probabilities proportional to the standard
    deviation of a new model's score (sessions with unequal probabilities, Hartley & Rao 1962).

    Parameters
    ----------
    model : AbilityModel
    size : int
    start : float
        In [0, 1); random.
    include : ndarray of int
        Chosen for certain.
    expect : {"like", "better"}

    Raises
    ------
    Unsuitable
        Fewer than two examples would be drawn at random.
    """
    examples = model.mean.shape[1]
    drawn = size - len(include)
    if drawn < 2 and size < examples:
        raise Unsuitable(f"a guarantee needs two examples drawn at random beside the {len(include)} included")
    spread = np.mean([np.sqrt(model.at(ability).variance) for ability in _ABILITIES[expect]], axis=0)
    measure = _EVEN * spread.mean() + (1 - _EVEN) * spread
    measure[include] = 0.0
    probability = proportional(measure, min(drawn, examples - len(include)))
    probability[include] = 1.0
    order = np.argsort(model.mean[len(model.grid) // 2], kind="stable")
    bounds = np.floor(np.cumsum(probability[order]) + start + 1e-9)
    taken = np.diff(np.concatenate(([np.floor(start + 1e-9)], bounds))) >= 1
    chosen = np.sort(order[taken])
    return chosen.astype(np.int64), probability[chosen]


def proportional(measure: Floats, total: int) -> Floats:
    """Probabilities proportional to the measure that sum to `total`, none above 1."""
    probability = np.zeros_like(measure)
    open_ = measure > 0
    left = float(total)
    while open_.any():
        share = measure * (left / measure[open_].sum())
        full = open_ & (share >= 1)
        if not full.any():
            probability[open_] = share[open_]
            break
        probability[full] = 1.0
        open_ &= ~full
        left -= int(full.sum())
    return probability
