"""Sizes found in two stages: few trials on sizes far apart, the others near the size that matters.

The sizes of the second stage depend on the first stage's results only, so they are the same
whatever the number of workers. Trials of the two stages are not the same ones; their MDADs are
averaged by numbers of trials, the first stage's read off between its sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

import numpy as np

from service.engine.measures.worst_curve import WorstCurve
from service.engine.reliability.minimal_size import Key, is_open, value_at

BRACKET = (0.72, 0.85, 1.0, 1.18, 1.4)
"""Sizes of the second stage, as multiples of the size that the first stage finds."""
BEYOND = (0.5, 1.8, 2.5)
"""More of them where that size is beyond those of the first stage."""
TABLE = (0.01, 0.02, 0.03, 0.05)
"""Targets of the table beside the recommendation."""
CAUTION = 0.3
"""Standard errors added where the first stage reads off its size."""
BEHIND = 3.0
"""Paired standard errors behind the best from which on a method is not tried again."""
LARGEST = 0.97
"""Largest size tried, as a share of the examples."""


@dataclass(frozen=True, slots=True)
class SecondStage(Generic[Key]):
    """What the second stage tries."""

    sizes: tuple[int, ...]
    methods: tuple[Key, ...]


def second_stage(
    curves: Mapping[Key, WorstCurve], target: float, n_examples: int, most: int
) -> SecondStage[Key]:
    """Sizes about the smallest that meets the target, and the methods worth trying there.

    Parameters
    ----------
    curves : mapping
        First stage's, by method.
    target : float
    n_examples : int
        N.
    most : int
        Largest size wanted.
    """
    largest = max(1, min(most, int(LARGEST * n_examples)))
    log_target = np.log(target) if target > 0 else -np.inf
    first = {
        key: curve.first_within(log_target, CAUTION, beyond=largest) or largest
        for key, curve in curves.items()
    }
    size = min(*first.values(), largest)
    best = min(
        curves, key=lambda key: (first[key], value_at(curves[key], min(size, int(curves[key].sizes[-1]))))
    )
    at = min(size, int(curves[best].sizes[-1]))
    methods = tuple(key for key in curves if key == best or is_open(curves[key], curves[best], at, BEHIND))
    factors = (*BRACKET, *(BEYOND if size > curves[best].sizes[-1] else ()))
    sizes = {int(np.clip(round(size * factor), 1, largest)) for factor in factors}
    return SecondStage(tuple(sorted(sizes)), methods)
