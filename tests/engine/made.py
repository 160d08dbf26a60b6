"""Matrices made for tests, and the experiment run on them in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.planning.plan import Plan, mdad_plan
from service.engine.reliability import mdad_job


def skills(models: int, examples: int, *, seed: int = 0, spread: float = 1.0) -> np.ndarray:
    """Probability that each model is right on each example: one ability, one difficulty."""
    rng = np.random.default_rng(seed)
    ability = rng.normal(0, spread, size=(models, 1))
    return 1 / (1 + np.exp(rng.normal(size=examples) - ability))


def answers(models: int, examples: int, *, seed: int = 0, spread: float = 1.0) -> np.ndarray:
    """0/1 scores drawn from `skills`."""
    chance = skills(models, examples, seed=seed, spread=spread)
    return (np.random.default_rng(seed + 1).random(chance.shape) < chance).astype(np.uint8)


def matrix(scores: np.ndarray, subtasks: Sequence[str] | None = None, **more: Any) -> Matrix:
    """A matrix with ids m00… and e000…"""
    models = [f"m{i:03}" for i in range(scores.shape[0])]
    examples = [f"e{j:05}" for j in range(scores.shape[1])]
    return Matrix.build(models, examples, scores, subtasks=subtasks, **more)


def plan_of(data: Matrix, settings: Mapping[str, Any]) -> Plan:
    return mdad_plan(settings, Outline.of(data))


def run(data: Matrix, **settings: Any) -> dict[str, Any]:
    """The whole experiment, part by part."""
    plan = plan_of(data, settings)
    return mdad_job.assemble(data, plan, pieces_of(data, plan), silent)


def pieces_of(data: Matrix, plan: Plan, cut: int = 1000) -> list[tuple[Mapping[str, Any], bytes]]:
    """What each part computes, in order; those of a second stage from what the first found."""
    pieces: list[tuple[Mapping[str, Any], bytes]] = []
    parts = [
        {**part, "trials": [at, min(at + cut, part["trials"][1])]}
        for part in mdad_job.parts(plan)
        for at in range(part["trials"][0], max(part["trials"][1], part["trials"][0] + 1), cut)
    ]
    for part in parts:
        earlier = [piece for piece in pieces if piece[0]["stage"] < part["stage"]]
        pieces.append((part, mdad_job.run_part(data, plan, part, earlier, silent)))
    return pieces


def silent(fraction: float) -> None:
    """A progress callback that lets everything pass."""
    assert 0 <= fraction <= 1


def line(result: Mapping[str, Any], label: str, sources: int | None = None) -> dict[str, Any]:
    """One method of a result."""
    found = [m for m in result["methods"] if m["label"] == label and m["source_models"] == sources]
    return found[0]
