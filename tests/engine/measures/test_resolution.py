"""Resolution and MDAD for new questions, against populations whose questions are all known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from service.engine.data.pairs import choose_pairs
from service.engine.measures.local_probit import Levels, fit_mdad
from service.engine.measures.new_questions import without_noise
from service.engine.measures.resolution import PairSpread
from tests.engine.made import matrix
from tests.engine.measures.populations import pool


def true_mdad(answers: np.ndarray, drawn: list[np.ndarray], truth: np.ndarray) -> float:
    """MDAD of these sets of questions, judged by a truth for each, pooled."""
    pairs = choose_pairs(len(answers), 1, 10**6, np.random.default_rng(0))
    gap = truth[pairs.first] - truth[pairs.second]
    levels = Levels.of(np.abs(gap) * answers.shape[1], answers.shape[1], counts=True)
    sign, credit = np.sign(gap)[levels.kept], np.zeros(len(levels.kept))
    for questions in drawn:
        means = answers[:, questions].mean(axis=1)
        order = np.sign(np.round(means[pairs.first] - means[pairs.second], 12))[levels.kept]
        credit += (order * sign > 0) + 0.5 * (order == 0)
    return float(fit_mdad(levels, levels.tally(credit[None] / len(drawn)), 0.8, answers.shape[1]).mdad[0])


def test_resolution_is_the_mdad_of_the_benchmark_for_all_questions() -> None:
    answers = pool(60, 20_000, seed=11)
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(20_000)[:400] for _ in range(20)]
    truth = true_mdad(answers, drawn, answers.mean(axis=1))
    estimated = [PairSpread.of(matrix(answers[:, questions])).resolution(0.8) for questions in drawn]
    assert np.mean(estimated) == pytest.approx(truth, rel=0.05)


def test_resolution_follows_the_disagreement_rate() -> None:
    scores = pool(30, 600, seed=2)
    spread = PairSpread.of(matrix(scores))
    apart = [np.mean(scores[i] != scores[j]) for i in range(30) for j in range(i)]
    assert spread.resolution(0.8) == pytest.approx(ndtri(0.8) * np.sqrt(np.mean(apart) / 600), rel=0.05)
    assert spread.resolution(0.8, 150) == pytest.approx(2 * spread.resolution(0.8), rel=0.03)


def test_graded_scores_have_the_variance_of_their_differences() -> None:
    scores = pool(10, 200, seed=3) * 0.5
    graded, whole = PairSpread.of(matrix(scores)), PairSpread.of(matrix(scores * 2))
    assert graded.square == pytest.approx(whole.square / 4)
    assert graded.resolution(0.8) == pytest.approx(whole.resolution(0.8) / 2, rel=1e-3)


def test_models_with_one_score_have_no_resolution() -> None:
    assert np.isinf(PairSpread.of(matrix(np.tile(np.array([[1, 0, 1]]), (3, 1)))).resolution(0.8))


@pytest.mark.parametrize("size", [30, 100])
def test_random_subsets_are_freed_of_the_held_out_half(size: int) -> None:
    """The truth: the same subsets, judged on every question of the pool."""
    answers = pool(60, 20_000, seed=21)
    rng = np.random.default_rng(1)
    found, true = [], []
    for _ in range(10):
        benchmark = rng.permutation(20_000)[:500]
        halves = [rng.permutation(benchmark) for _ in range(40)]
        subsets = [half[:size] for half in halves]
        raw = pooled_raw(answers, subsets, [half[250:] for half in halves])
        spread = PairSpread.of(matrix(answers[:, benchmark]))
        found.append(without_noise(np.array([raw]), spread, 250, 0.8)[0])
        true.append(true_mdad(answers, subsets, answers.mean(axis=1)))
    assert 0.9 <= np.mean(found) / np.mean(true) <= 1.1


def pooled_raw(answers: np.ndarray, subsets: list[np.ndarray], held: list[np.ndarray]) -> float:
    """MDAD of subsets judged on held-out questions, each on its own, pooled."""
    pairs = choose_pairs(len(answers), len(subsets), 10**6, np.random.default_rng(0))
    truth = np.stack([answers[:, h].sum(axis=1, dtype=np.float64) for h in held])
    means = np.stack([answers[:, s].mean(axis=1) for s in subsets])
    gap = truth[pairs.trial, pairs.first] - truth[pairs.trial, pairs.second]
    levels = Levels.of(np.abs(gap), len(held[0]), counts=True)
    order = np.sign(np.round(means[pairs.trial, pairs.first] - means[pairs.trial, pairs.second], 12))
    values = ((order * np.sign(gap) > 0) + 0.5 * (order == 0))[levels.kept]
    return float(fit_mdad(levels, levels.tally(values[None]), 0.8, len(held[0])).mdad[0])


def test_below_half_of_the_resolution_there_is_no_number() -> None:
    spread = PairSpread.of(matrix(pool(30, 200, seed=4)))
    assert np.isnan(without_noise(np.array([0.01]), spread, 100, 0.8)[0])
