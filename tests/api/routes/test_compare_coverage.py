"""Intervals of differences over HTTP: they cover the truth for pairs of models of every kind.

The baseline is a model of the matrix, the candidate's answers on the chosen examples are sent.
Truth: the difference on all examples, of the runs sent or, for `runs`, of the models' chances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa
from numpy.typing import NDArray

from service.core.settings import Settings
from tests.api.routes.test_unlike_sources import Population
from tests.api.working import Worker

Floats = NDArray[np.float64]
Pairs = list[tuple[int, int]]
SIZE, PAIRS, SAMPLES = 80, 20, 3
CONFIDENCE = 0.9
# Of 60 intervals, and the samples are shared: two standard errors and a little below 0.9.
LEAST = 0.78

POPULATION = Population.simulated(models=230, examples=300, seed=11)
FULL = POPULATION.scores.mean(axis=1)
ORDER = np.argsort(FULL)


def similar(sources: NDArray[np.int64], candidates: NDArray[np.int64]) -> Pairs:
    """The baseline nearest to each candidate."""
    return [(int(sources[np.abs(FULL[sources] - FULL[c]).argmin()]), int(c)) for c in candidates]


def far_apart(sources: NDArray[np.int64], candidates: NDArray[np.int64]) -> Pairs:
    """The baseline furthest from each candidate."""
    return [(int(sources[np.abs(FULL[sources] - FULL[c]).argmax()]), int(c)) for c in candidates]


def split(sources: int, *, better: bool = False) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rng = np.random.default_rng(sources)
    if better:
        return rng.permutation(ORDER[:150])[:sources], rng.permutation(ORDER[180:])[:PAIRS]
    mixed = rng.permutation(len(FULL))
    return mixed[:sources], mixed[-PAIRS:]


def covered(
    api: httpx.Client, worker: Worker, scores: Floats, sources: NDArray[np.int64], pairs: Pairs,
    sent: Callable[[int, int], Any] | None = None, of: Floats | None = None, **ask: Any,
) -> float:  # fmt: skip
    """Share of intervals that hold the true difference, over three samples."""
    truth = scores.mean(axis=1) if of is None else of
    examples = [f"e{j:03}" for j in range(scores.shape[1])]
    table = {"models": [f"m{i}" for i in sources], "examples": examples, "scores": scores[sources].tolist()}
    answer = api.post("/matrices", json=table)
    assert answer.status_code == 201, answer.text
    hits = []
    for seed in range(SAMPLES):
        chosen = worker.result(
            api, "/select", {"matrix_id": answer.json()["id"], "method": "random", "size": SIZE, "seed": seed}
        )
        columns = [int(example["id"][1:]) for example in chosen["examples"]]
        for baseline, candidate in pairs:
            values = {
                examples[j]: (scores[candidate, j] if sent is None else sent(candidate, j)) for j in columns
            }
            given = {example: value for example, value in values.items() if value is not None}
            body = {
                "selection_id": chosen["selection_id"], "baseline": f"m{baseline}", "store": False,
                "candidate": {"answers": given}, "confidence": CONFIDENCE, "least_coverage": 0.5, **ask,
            }  # fmt: skip
            found = api.post("/compare", json=body)
            assert found.status_code == 200, found.text
            low, high = found.json()["comparisons"][0]["interval"]
            hits.append(low - 1e-9 <= truth[candidate] - truth[baseline] <= high + 1e-9)
    return float(np.mean(hits))


@pytest.fixture(scope="module")
def worker(db: sa.Engine, settings: Settings) -> Worker:
    return Worker(db, settings)


@pytest.mark.parametrize("sources", [3, 5, 10, 40, 150])
def test_similar_models_by_number_of_sources(api: httpx.Client, worker: Worker, sources: int) -> None:
    known, candidates = split(sources)
    assert covered(api, worker, POPULATION.scores, known, similar(known, candidates)) >= LEAST


def test_models_far_apart(api: httpx.Client, worker: Worker) -> None:
    known, candidates = split(40)
    assert covered(api, worker, POPULATION.scores, known, far_apart(known, candidates)) >= LEAST


def test_candidates_better_than_every_source(api: httpx.Client, worker: Worker) -> None:
    known, candidates = split(40, better=True)
    assert FULL[candidates].min() > FULL[known].max()
    assert covered(api, worker, POPULATION.scores, known, similar(known, candidates)) >= LEAST


def test_graded_scores(api: httpx.Client, worker: Worker) -> None:
    graded = np.round(POPULATION.chances, 3)
    known, candidates = split(40)
    assert covered(api, worker, graded, known, similar(known, candidates)) >= LEAST


def test_answers_missing_at_random(api: httpx.Client, worker: Worker) -> None:
    known, candidates = split(40)
    gone = np.random.default_rng(1).random(POPULATION.scores.shape) < 0.15

    def sent(candidate: int, example: int) -> float | None:
        return None if gone[candidate, example] else float(POPULATION.scores[candidate, example])

    assert covered(api, worker, POPULATION.scores, known, similar(known, candidates), sent) >= LEAST


def test_new_runs_of_the_same_models(api: httpx.Client, worker: Worker) -> None:
    """Three runs of the candidate: the truth is the difference of the models' chances on all examples."""
    known, candidates = split(40)
    rng, chances = np.random.default_rng(2), POPULATION.chances

    def sent(candidate: int, example: int) -> list[float]:
        return [float(rng.random() < chances[candidate, example]) for _ in range(3)]

    found = covered(
        api, worker, POPULATION.scores, known, similar(known, candidates), sent,
        of=chances.mean(axis=1), truth="runs",
    )  # fmt: skip
    assert found >= LEAST
