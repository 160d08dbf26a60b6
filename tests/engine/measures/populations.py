"""Populations whose truth is known: two-parameter logistic models on a large pool of questions."""

from __future__ import annotations

import numpy as np


def pool(models: int, questions: int, *, seed: int) -> np.ndarray:
    """0/1 answers of models of close ability to a pool of questions, shape (M, Q)."""
    rng = np.random.default_rng(seed)
    ability = rng.normal(0, 0.6, size=(models, 1))
    slope, difficulty = rng.lognormal(0, 0.4, size=questions), rng.normal(size=questions)
    chance = 1 / (1 + np.exp(-slope * (ability - difficulty)))
    return (rng.random(chance.shape) < chance).astype(np.uint8)
