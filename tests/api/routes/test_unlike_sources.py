"""Scores over HTTP of models like the sources, better, worse, of another family, and of repeated runs.

Each setting's error and coverage are measured on the answers that users get: the matrix is
uploaded, examples are chosen, and the targets' answers on them are sent to `/scores`.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa
from numpy.typing import NDArray

from service.core.settings import Settings
from tests.api.conftest import answering
from tests.api.working import Worker

Floats = NDArray[np.float64]
PUBLIC = Path(__file__).resolve().parents[4] / "shared" / "data" / "public" / "arc_challenge.csv.gz"
TARGETS = 24


@pytest.fixture(scope="module")
def settings(postgres_url: str, redis_url: str) -> Settings:
    return Settings(database_url=postgres_url, redis_url=redis_url, max_body_bytes=4_000_000)


@pytest.fixture(scope="module")
def api(settings: Settings) -> Iterator[httpx.Client]:
    with answering(settings) as client:
        yield client


@pytest.fixture(scope="module")
def worker(db: sa.Engine, settings: Settings) -> Worker:
    return Worker(db, settings)


@dataclass(frozen=True, slots=True)
class Population:
    """Models × examples with two abilities, and families that share what they find hard."""

    scores: Floats
    families: NDArray[np.int64]
    subtasks: tuple[str, ...]
    chances: Floats

    @classmethod
    def simulated(cls, models: int = 260, examples: int = 300, seed: int = 3) -> Population:
        rng = np.random.default_rng(seed)
        families = rng.integers(0, 8, models)
        subtasks = rng.integers(0, 3, examples)
        slopes = rng.lognormal(-0.1, 0.4, examples)
        logits = slopes * (rng.normal(0, 1, models)[:, None] - rng.normal(0.3, 1.2, examples))
        logits += 0.5 * rng.normal(0, 1, (models, 3))[:, subtasks]
        logits += 0.5 * rng.normal(0, 1, (8, examples))[families]
        chances = 1 / (1 + np.exp(-logits))
        scores = (rng.random(chances.shape) < chances).astype(np.float64)
        return cls(scores, families, tuple(f"part {k}" for k in subtasks), chances)


@pytest.fixture(scope="module")
def population() -> Population:
    return Population.simulated()


def like(p: Population, sources: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.random.default_rng(0).permutation(len(p.scores))
    return order[:sources], order[-TARGETS:]


def better(p: Population, sources: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.argsort(p.scores.mean(axis=1), kind="stable")
    return _drawn(order[: int(0.6 * len(order))], sources), order[-TARGETS:]


def worse(p: Population, sources: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.argsort(-p.scores.mean(axis=1), kind="stable")
    return _drawn(order[: int(0.6 * len(order))], sources), order[-TARGETS:]


def family(p: Population, sources: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return _drawn(np.flatnonzero(p.families != 2), sources), np.flatnonzero(p.families == 2)[:TARGETS]


def _drawn(rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return np.random.default_rng(1).permutation(rows)[:count]


Setting = Callable[[Population, int], tuple[NDArray[np.int64], NDArray[np.int64]]]


class Service:
    """What a user does: upload, select, send answers."""

    def __init__(self, api: httpx.Client, worker: Worker) -> None:
        self._api, self._worker = api, worker

    def select(self, scores: Floats, subtasks: tuple[str, ...] | None = None, **asked: Any) -> dict[str, Any]:
        names = {"models": [f"s{i:03}" for i in range(len(scores))], "examples": _ids(scores.shape[1])}
        body = names | {"scores": scores.tolist()} | ({"subtasks": list(subtasks)} if subtasks else {})
        answer = self._api.post("/matrices", json=body)
        assert answer.status_code == 201, answer.text
        request = {"matrix_id": answer.json()["id"], "method": "optimal_design", "size": 50}
        return self._worker.result(self._api, "/select", request | asked)

    def scores(self, selection: dict[str, Any], answers: Floats, **query: Any) -> list[dict[str, Any]]:
        """Answers on every example, NaN where missing; those off the selection are not sent."""
        place = {name: at for at, name in enumerate(_ids(answers.shape[1]))}
        examples = [example["id"] for example in selection["examples"]]
        values = answers[:, [place[name] for name in examples]]
        table = [[None if np.isnan(x) else float(x) for x in row] for row in values]
        body = {"models": [f"t{i:03}" for i in range(len(values))], "examples": examples, "scores": table}
        answer = self._api.post(
            f"/selections/{selection['selection_id']}/scores", json=body, params={"confidence": 0.9} | query
        )
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["scores"]
        return found


@pytest.fixture(scope="module")
def service(api: httpx.Client, worker: Worker) -> Service:
    return Service(api, worker)


def _ids(count: int) -> list[str]:
    return [f"e{j:04}" for j in range(count)]


def judged(found: list[dict[str, Any]], truth: Floats) -> tuple[float, float]:
    """Mean absolute error in points and coverage."""
    score = np.array([one["score"] for one in found])
    low, high = np.array([one["interval"] for one in found]).T
    inside = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    return 100 * float(np.abs(score - truth).mean()), float(inside.mean())


@pytest.mark.parametrize("sources", [5, 40, 150])
@pytest.mark.parametrize("expect", ["like", "better"])
@pytest.mark.parametrize(
    ("setting", "most"),
    [(like, 6.5), (better, 7.5), (worse, 9.0), (family, 6.5)],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_intervals_cover_in_every_setting(
    service: Service, population: Population, setting: Setting, most: float, expect: str, sources: int
) -> None:
    rows, targets = setting(population, sources)
    chosen = service.select(population.scores[rows], expect=expect)

    found = service.scores(chosen, population.scores[targets])

    error, covered = judged(found, population.scores[targets].mean(axis=1))
    assert chosen["expect"] == expect
    assert covered >= (0.66 if expect == "like" and sources == 5 and setting is better else 0.79)
    assert error < most * (1 + 0.8 * (sources == 5))


@pytest.mark.parametrize("sources", [3, 10])
@pytest.mark.parametrize("setting", [like, better])
def test_few_sources_are_expected_better_and_covered(
    service: Service, population: Population, setting: Setting, sources: int
) -> None:
    rows, targets = setting(population, sources)

    chosen = service.select(population.scores[rows])
    found = service.scores(chosen, population.scores[targets])

    assert chosen["expect"] == ("better" if sources < 10 else "like")
    assert judged(found, population.scores[targets].mean(axis=1))[1] >= 0.75


@pytest.mark.parametrize("setting", [like, better, worse])
def test_graded_scores_with_subtasks(service: Service, population: Population, setting: Setting) -> None:
    graded = Population(population.chances**2, population.families, population.subtasks, population.chances)
    rows, targets = setting(graded, 40)
    chosen = service.select(graded.scores[rows], graded.subtasks, expect="better")

    error, covered = judged(
        service.scores(chosen, graded.scores[targets]), graded.scores[targets].mean(axis=1)
    )

    assert covered >= 0.75
    assert error < 5


def test_missing_answers_to_any_examples_widen_and_still_cover(
    service: Service, population: Population
) -> None:
    rows, targets = like(population, 40)
    chosen = service.select(population.scores[rows])
    answers = population.scores[targets].copy()
    answers[np.random.default_rng(5).random(answers.shape) < 0.3] = np.nan

    found = service.scores(chosen, answers)

    whole = service.scores(chosen, population.scores[targets])
    assert judged(found, population.scores[targets].mean(axis=1))[1] >= 0.79
    assert _width(found) > _width(whole)
    assert all(one["bounds"][0] <= one["score"] <= one["bounds"][1] for one in found)


def test_answers_missing_because_they_are_wrong_are_told_with_bounds(
    service: Service, population: Population
) -> None:
    rows, targets = like(population, 40)
    chosen = service.select(population.scores[rows])
    answers = population.scores[targets].copy()
    wrong = answers == 0
    answers[wrong & (np.random.default_rng(5).random(answers.shape) < 0.6)] = np.nan

    found = service.scores(chosen, answers)

    truth = population.scores[targets].mean(axis=1)
    told = [one for one in found if any("missing because they are wrong" in w for w in one["warnings"])]
    assert len(told) >= 0.8 * len(found)
    inside = [b["bounds"][0] - 0.06 <= t for b, t in zip(found, truth, strict=True)]
    assert np.mean(inside) > 0.8


def _width(found: list[dict[str, Any]]) -> float:
    return float(np.mean([one["interval"][1] - one["interval"][0] for one in found]))


def test_repeated_runs_are_covered_with_the_variance_of_runs_and_not_without(
    service: Service, population: Population
) -> None:
    rows, targets = like(population, 40)
    chosen = service.select(population.scores[rows])
    # Two runs that agree where the model is sure, and toss coins where it is not.
    toss = np.abs(population.chances[targets] - 0.5) < 0.35
    rng = np.random.default_rng(8)
    covered = {0.0: [], 1.0: []}
    for _ in range(4):
        first, second = (
            np.where(toss, rng.random(toss.shape) < 0.5, population.scores[targets]).astype(float)
            for _ in "ab"
        )
        for part, seen in covered.items():
            found = service.scores(chosen, first, run_variance=part * 0.25 * float(toss.mean()))
            seen.append(judged(found, second.mean(axis=1))[1])

    assert np.mean(covered[1.0]) >= 0.86
    assert np.mean(covered[1.0]) > np.mean(covered[0.0])


def test_a_model_better_than_every_source_is_told_so_by_scores_and_compare(
    service: Service, api: httpx.Client, population: Population
) -> None:
    rows, targets = better(population, 40)
    chosen = service.select(population.scores[rows], expect="better")

    best = service.scores(chosen, population.scores[targets[-1:]])[0]

    half = 50 * (best["interval"][1] - best["interval"][0])
    assert best["warnings"][0] == (
        f"Better than every source model: the estimate rests on extrapolation, ± {half:.1f} points."
    )
    ids = [example["id"] for example in chosen["examples"]]
    answers = {name: float(population.scores[targets[-1], int(name[1:])]) for name in ids}
    body = {"selection_id": chosen["selection_id"], "baseline": "s000", "candidate": {"answers": answers}}
    compared = api.post("/compare", json=body).json()["comparisons"][0]
    assert any("Candidate: Better than every source model" in warning for warning in compared["warnings"])


def test_sources_that_cannot_speak_are_said_to_and_the_interval_is_no_narrower_than_a_samples(
    service: Service, population: Population
) -> None:
    chosen = service.select(population.scores[:3])

    found = service.scores(chosen, population.scores[100:110])

    for one in found:
        assert one["warnings"][0].startswith(
            "The source models cannot say what this model scores: there are only 3"
        )
        sample = 1.645 * np.sqrt(one["score"] * (1 - one["score"]) / 50 * (1 - 50 / 300))
        assert one["interval"][1] - one["interval"][0] > 1.6 * sample


@pytest.mark.parametrize("setting", [like, better])
def test_a_guarantee_covers_and_says_what_it_costs(
    service: Service, population: Population, setting: Setting
) -> None:
    rows, targets = setting(population, 40)
    chosen = service.select(population.scores[rows], guarantee=True, size=80)

    found = service.scores(chosen, population.scores[targets])

    assert chosen["guarantee"]
    assert all(0 < example["inclusion"] <= 1 for example in chosen["examples"])
    assert {one["basis"] for one in found} == {"design"}
    assert judged(found, population.scores[targets].mean(axis=1))[1] >= 0.75
    assert "points wide; the model's own would be" in found[0]["warnings"][0]


@pytest.mark.skipif(not PUBLIC.exists(), reason=f"{PUBLIC} is not here")
@pytest.mark.parametrize(
    ("setting", "expect", "most"), [(like, "like", 3.2), (better, "better", 4.8), (worse, "better", 13.0)]
)
def test_on_language_models(service: Service, setting: Setting, expect: str, most: float) -> None:
    with gzip.open(PUBLIC, "rt") as lines:
        scores = np.array([row[1:] for row in list(csv.reader(io.StringIO(lines.read())))[1:]], dtype=float)
    p = Population(scores, np.zeros(len(scores), dtype=np.int64), (), scores)
    rows, targets = setting(p, 40)

    chosen = service.select(scores[rows], expect=expect)
    error, covered = judged(service.scores(chosen, scores[targets]), scores[targets].mean(axis=1))

    assert covered >= 0.79
    assert error < most
