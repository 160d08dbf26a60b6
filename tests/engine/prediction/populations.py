"""Simulated populations of models on a benchmark, as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import Source

Floats = NDArray[np.float64]


def answers_of(abilities: Floats, examples: int, seed: int) -> Floats:
    """0/1 answers under logistic curves whose difficulties and slopes differ, shape (M, examples)."""
    rng = np.random.default_rng(seed)
    slopes, places = rng.lognormal(0, 0.4, examples), rng.normal(0, 1.2, examples)
    logits = slopes * (abilities[:, None] - places)
    return (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(np.float64)


def source_of(scores: Floats, strata: NDArray[np.int32] | None = None) -> Source:
    """Source models with these scores."""
    groups = np.zeros(scores.shape[1], dtype=np.int32) if strata is None else strata
    return Source(scores=scores, strata=groups)
