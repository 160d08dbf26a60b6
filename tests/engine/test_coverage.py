"""Intervals cover: 200 populations of models on one benchmark whose true numbers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from service.engine.data.matrix import Matrix
from tests.engine import made

EXAMPLES, MODELS, POPULATIONS = 120, 30, 200
SIZES = [15, 40]
REQUEST: dict[str, Any] = {"methods": ["random"], "sizes": SIZES, "holdout": 0.5}


def population(models: int, seed: int) -> Matrix:
    """Models of one skill on the same examples every time."""
    fixed = np.random.default_rng(99)
    difficulty, slope = fixed.normal(size=EXAMPLES), np.exp(fixed.normal(0, 0.3, size=EXAMPLES))
    rng = np.random.default_rng(seed)
    chance = 1 / (1 + np.exp(-slope * (rng.normal(0.3, 0.8, size=(models, 1)) - difficulty)))
    return made.matrix((rng.random(chance.shape) < chance).astype(np.uint8))


@pytest.fixture(scope="module")
def true() -> dict[tuple[int, str], dict[str, float]]:
    """The same experiment on so many models and trials that no sampling error is left."""
    result = made.run(population(999, 7), **REQUEST, target_models=200, trials=150)
    return {
        (cell["size"], truth): cell[truth]
        for cell in made.line(result, "random")["sizes"]
        for truth in ("same_items", "new_items")
    }


def test_95_percent_intervals_hold_the_truth_in_90_percent(
    true: dict[tuple[int, str], dict[str, float]],
) -> None:
    hits = {(key, what): 0 for key in true for what in ("mdad", "agreement")}
    for seed in range(POPULATIONS):
        result = made.run(population(MODELS, 1000 + seed), **REQUEST, target_models=15, trials=12, seed=seed)
        for cell in made.line(result, "random")["sizes"]:
            for truth in ("same_items", "new_items"):
                key, found = (cell["size"], truth), cell[truth]
                low, high = found["interval"]
                high = np.inf if high is None else high
                hits[key, "mdad"] += low - 1e-9 <= true[key]["mdad"] <= high + 1e-9
                low, high = found["agreement_interval"]
                hits[key, "agreement"] += low <= true[key]["agreement"] <= high
    shares = {key: count / POPULATIONS for key, count in hits.items()}
    assert min(shares.values()) >= 0.9, shares
