"""Whole sessions on simulated benchmarks: what they promise, with the truth exactly at the margin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from service.engine.comparison.gate import GateRule
from service.engine.comparison.sequential import (
    Known,
    Look,
    Looks,
    Mode,
    Prepared,
    Question,
    learn,
    look,
    plan_looks,
    prepare,
    put_in_order,
)
from tests.engine import made

Floats = NDArray[np.float64]
EXAMPLES, SOURCES, SESSIONS, BATCH = 300, 30, 250, 20
RULE = GateRule(margin=0.02, confidence=0.9, preset="non_inferiority")
"""Of 300 examples, two points are six."""


def benchmark(seed: int) -> Floats:
    """Source models' answers by a Rasch model, shape (S, N)."""
    return made.answers(SOURCES, EXAMPLES, seed=2 * seed).astype(np.float64)


def worse(baseline: Floats, answers: Floats, by: float, rng: np.random.Generator) -> Floats:
    """A model like one that answers so, made to score exactly `by` less than the baseline."""
    row = answers.copy()
    gap = round((row.sum() - baseline.sum()) + by * len(row))
    place = rng.permutation(np.flatnonzero(row == (gap > 0)))[: abs(gap)]
    row[place] = float(gap < 0)
    return row


def known(scores: Floats, **more: NDArray[np.int64]) -> Known:
    return Known(learn(scores, np.zeros(EXAMPLES, dtype=np.int32)), scores[0], more.get("clusters"))


def prepared_for(known: Known, budget: int, seed: int, mode: Mode = "random") -> Prepared:
    return prepare(known, put_in_order(known, budget, seed, mode), mode)


def ended(
    prepared: Prepared, candidate: Floats, question: Question, looks: Looks = "planned", budget: int = 160
) -> tuple[Look, list[Look]]:
    """The session's last look, and all of them."""
    plan = plan_looks(budget, BATCH, len(candidate), question.rule.confidence, looks)
    answers, found = candidate[prepared.order], []
    for number, size in enumerate(plan.sizes):
        found.append(look(prepared, plan, question, answers[:size], number))
        if found[-1].decision is not None:
            return found[-1], found
    raise AssertionError("a session ends at its budget")


def at_most(count: int, promised: float) -> bool:
    return count / SESSIONS <= promised + 2 * (promised * (1 - promised) / SESSIONS) ** 0.5


@pytest.mark.parametrize("looks", ["planned", "any"])
@pytest.mark.parametrize("graded", [False, True])
def test_exactly_at_the_margin_errors_are_as_promised(looks: Looks, graded: bool) -> None:
    """Both sides: 0.05 may say better than the margin, 0.05 worse."""
    rng, said = np.random.default_rng(3), {"pass": 0, "fail": 0, "inconclusive": 0}
    uncovered = 0
    for seed in range(SESSIONS):
        scores = benchmark(seed % 10)
        candidate = worse(scores[0], benchmark(100 + seed)[1], 0.02, rng)
        if graded:
            scores, candidate = (0.25 + 0.5 * part for part in (scores, candidate))
        question = Question(replace(RULE, margin=0.01 if graded else 0.02))
        prepared = prepared_for(known(scores), 160, seed)
        last, found = ended(prepared, candidate, question, looks)
        truth = candidate.mean() - scores[0].mean()
        uncovered += any(not one.interval[0] <= truth <= one.interval[1] for one in found)
        said[str(last.decision)] += 1

    assert at_most(said["fail"], 0.05), said
    assert at_most(said["pass"], 0.05), said
    assert at_most(uncovered, 0.1), uncovered


def test_missing_answers_and_clusters_keep_the_promise() -> None:
    rng, failed = np.random.default_rng(4), 0
    for seed in range(SESSIONS):
        scores = benchmark(seed % 10)
        candidate = worse(scores[0], benchmark(100 + seed)[1], 0.02, rng)
        clusters = rng.permutation(np.repeat(np.arange(EXAMPLES // 2), 2))
        prepared = prepared_for(known(scores, clusters=clusters), 160, seed)
        given = np.where(rng.random(EXAMPLES) < 0.1, np.nan, candidate)
        last, _ = ended(prepared, given, Question(RULE))
        failed += last.decision == "fail"
        assert last.scored < last.size

    assert at_most(failed, 0.05), failed


def test_a_default_gate_hardly_fails_an_equal_model_and_stops_early() -> None:
    rng, failed, sizes = np.random.default_rng(5), 0, []
    rule = GateRule(margin=0.0, confidence=0.9, preset="regression")
    for seed in range(SESSIONS):
        scores = benchmark(seed % 10)
        candidate = worse(scores[0], benchmark(100 + seed)[1], 0.0, rng)
        last, _ = ended(prepared_for(known(scores), 160, seed), candidate, Question(rule))
        failed += last.decision == "fail"
        sizes.append(last.size)
        assert last.decision in ("pass", "fail")

    assert at_most(failed, 0.05), failed
    assert np.mean(sizes) < 130


@pytest.mark.parametrize("sources", [0, 3, SOURCES])
def test_the_whole_benchmark_decides_as_the_truth_does(sources: int) -> None:
    scores = benchmark(1)
    for by, verdict in ((0.02, "pass"), (0.03, "fail"), (0.01, "pass")):
        candidate = worse(scores[0], benchmark(2)[1], by, np.random.default_rng(0))
        all_known = replace(
            known(scores), sources=learn(scores[:sources], np.zeros(EXAMPLES, dtype=np.int32))
        )
        last, _ = ended(prepared_for(all_known, EXAMPLES, 0), candidate, Question(RULE), budget=EXAMPLES)
        assert last.decision == verdict
        if last.size == EXAMPLES:
            assert last.interval == pytest.approx((-by, -by))
            assert last.standard_error == 0


@pytest.mark.parametrize("mode", ["random", "designed"])
def test_a_large_drop_is_found_early(mode: Mode) -> None:
    scores = benchmark(1)
    candidate = worse(scores[0], scores[0], 0.2, np.random.default_rng(0))

    last, found = ended(prepared_for(known(scores), 160, 0, mode), candidate, Question(RULE))

    assert last.decision == "fail"
    assert last.size <= 100
    assert last.estimator == ("assisted" if mode == "random" else "predicted")
    assert [one.error_spent for one in found] == sorted(one.error_spent for one in found)


def test_a_score_is_known_when_its_interval_is_narrow() -> None:
    question, covered, sizes = Question(RULE, precision=0.07), 0, []
    for seed in range(SESSIONS):
        scores = benchmark(seed % 10)
        candidate = benchmark(100 + seed)[1]
        prepared = prepared_for(replace(known(scores), baseline=None), 250, seed)
        last, _ = ended(prepared, candidate, question, budget=250)
        assert last.decision == "known"
        assert (last.interval[1] - last.interval[0]) / 2 <= 0.07
        covered += last.interval[0] <= candidate.mean() <= last.interval[1]
        sizes.append(last.size)

    assert at_most(SESSIONS - covered, 0.1), covered
    assert np.mean(sizes) < 220


def test_run_noise_widens_the_interval() -> None:
    scores = benchmark(1)
    prepared, plan = prepared_for(known(scores), 160, 0), plan_looks(160, BATCH, EXAMPLES, 0.9)
    answers = benchmark(2)[1][prepared.order][:60]

    quiet, noisy = (
        look(prepared, plan, Question(RULE, run_variance=variance), answers, 0) for variance in (0.0, 0.1)
    )

    assert noisy.standard_error > quiet.standard_error
    assert noisy.estimate == quiet.estimate


def test_uncertain_examples_are_asked_sooner_where_they_differ() -> None:
    """Half of the examples are answered by every model; their answers are hardly asked for."""
    easy = np.ones((SOURCES, EXAMPLES // 2))
    scores = np.hstack((easy, benchmark(3)[:, : EXAMPLES // 2]))

    order = prepared_for(known(scores), EXAMPLES, 0).order

    assert (order[:100] >= EXAMPLES // 2).mean() > 0.55
    assert sorted(order.tolist()) == list(range(EXAMPLES))


def test_the_same_seed_asks_in_the_same_order() -> None:
    scores = benchmark(3)

    orders = [prepared_for(known(scores), 100, seed).order.tolist() for seed in (1, 1, 2)]

    assert orders[0] == orders[1] != orders[2]
