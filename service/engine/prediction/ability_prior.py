"""What is believed of a new model's ability before its answers: like the sources, or better than they are."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.stats import t as student

from service.engine.prediction.shrinkage import Floats

Expect = Literal["like", "better"]
EXPECTATIONS: tuple[Expect, ...] = get_args(Expect)
_FREEDOM = 3
_ANYWHERE = 0.2
"""Probability that the ability lies anywhere on the grid, when it is not like the sources'."""
_LIKE_SCALE = 1.1
_LIKE, _UNSURE_MODELS = 0.8, 10
"""Probability of an ability like the sources' with many of them; half of it with `_UNSURE_MODELS`."""
_SCALES: dict[Expect, float] = {"like": 2.0, "better": 4.0}


def log_prior(grid: Floats, models: int, expect: Expect) -> Floats:
    """Logarithm of the prior density at each ability of the grid, shape (G,).

    A mixture: Student's t as the sources themselves make it, in mode `like` only, and a wide
    t or anything on the grid. Few sources do not say what a model like them is.

    Parameters
    ----------
    grid : ndarray of float64, shape (G,)
        Abilities in standard deviations of the sources.
    models : int
        Effective number of source models.
    expect : {"like", "better"}
    """
    scale = _SCALES[expect]
    tails = student.pdf(grid / scale, _FREEDOM) / scale
    unlike = (1 - _ANYWHERE) * tails + _ANYWHERE / (grid[-1] - grid[0])
    if expect == "better" or models < 2:
        return np.asarray(np.log(unlike))
    known = _LIKE * models / (models + _UNSURE_MODELS)
    core = _LIKE_SCALE * np.sqrt(1 + 1 / models)
    like = student.pdf(grid / core, models - 1) / core
    return np.asarray(np.log(known * like + (1 - known) * unlike))
