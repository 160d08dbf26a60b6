"""Source models' results for the tests of selection methods."""

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import Source
from service.engine.data.matrix import Scores


def source(
    scores: Scores,
    *,
    strata: NDArray[np.int32] | None = None,
    confidences: NDArray[np.float32] | None = None,
    embeddings: NDArray[np.float32] | None = None,
) -> Source:
    """Without subtasks unless told."""
    subtasks = np.zeros(scores.shape[1], dtype=np.int32) if strata is None else strata
    return Source(scores, subtasks, confidences, embeddings)


def simulated(models: int, examples: int, seed: int = 0, *, dimensions: int = 3) -> NDArray[np.uint8]:
    """0/1 scores of models with several abilities on examples of all difficulties."""
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=(models, dimensions)) / np.arange(1, dimensions + 1)
    discrimination = np.abs(rng.normal(size=(examples, dimensions)))
    difficulty = rng.normal(scale=1.5, size=examples)
    chance = 1 / (1 + np.exp(difficulty - ability @ discrimination.T))
    return (rng.random(chance.shape) < chance).astype(np.uint8)
