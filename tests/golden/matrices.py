"""Small matrices, the same on every machine: two-parameter logistic answers from a fixed stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = dict[str, Any]


def binary(models: int = 20, examples: int = 60, seed: int = 1) -> NDArray[np.int64]:
    """0/1 answers, models of rising ability; no two examples are answered the same, which would tie."""
    drawn = np.random.default_rng(seed).random((models, 4 * examples)) < _chances(models, 4 * examples, seed)
    _, first = np.unique(drawn, axis=1, return_index=True)
    assert len(first) >= examples, "too few different examples"
    return drawn[:, np.sort(first)[:examples]].astype(int)


def table(scores: NDArray[Any], **more: Any) -> Table:
    """The JSON that POST /matrices takes."""
    models, examples = scores.shape
    named = {"models": names("m", models), "examples": names("e", examples)}
    return named | {"scores": scores.tolist()} | more


def names(letter: str, count: int) -> list[str]:
    """m00, m01, …"""
    return [f"{letter}{at:02}" for at in range(count)]


def _chances(models: int, examples: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(1000 + seed)
    ability, difficulty = np.linspace(-1.4, 1.9, models)[:, None], 3 * rng.random(examples) - 1.5
    return np.asarray(1 / (1 + np.exp((0.5 + 1.5 * rng.random(examples)) * (difficulty - ability))))


def _graded() -> Table:
    noise = np.random.default_rng(2).random((20, 48)) - 0.5
    return table(np.round(np.clip(_chances(20, 48, 2) + 0.5 * noise, 0, 1), 3))


def _subtasks() -> Table:
    subtasks = ["algebra"] * 34 + ["biology"] * 25 + ["chess"] * 13
    scores = binary(20, 72, 3)
    scores[:, 20] = 1
    return table(scores, subtasks=subtasks)


def _gaps() -> Table:
    scores = binary(18, 50, 4).tolist()
    for model, example in ((2, 7), (2, 8), (5, 7), (5, 30), (11, 41)):
        scores[model][example] = None
    return table(np.array(scores, dtype=object))


def _confident() -> Table:
    scores = binary(22, 50, 5)
    spread = np.random.default_rng(5).random(scores.shape)
    return table(scores, confidences=np.round(0.05 + 0.5 * scores + 0.4 * spread, 3).tolist())


def _repeated() -> Table:
    """Twelve kinds of examples, each a few times: what is chosen does not hang on the last bits of a fit."""
    return table(np.repeat(binary(24, 12, 7), [12, 1, 7, 2, 4, 10, 3, 1, 8, 5, 2, 5], axis=1))


TABLES: dict[str, Table] = {
    "binary": table(binary()),
    "graded": _graded(),
    "subtasks": _subtasks(),
    "gaps": _gaps(),
    "confident": _confident(),
    # Of so many models hardly two pairs of examples have the same correlation, which would tie.
    "wide": table(binary(97, 30, 6)),
    "repeated": _repeated(),
}
