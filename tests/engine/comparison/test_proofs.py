"""Does the gate keep its promises on real answers? Draws from GPQA and from the bundled sample.

`python -m tests.engine.comparison.test_proofs` prints the same rates from more draws.
"""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from service.engine.comparison import Design, Gate, GateRule, Setting, compare
from service.engine.comparison.gate import smallest_detectable_drop
from service.engine.comparison.paired import PairedScores, difference
from service.engine.comparison.score_estimates import design_score
from service.engine.comparison.selection_evaluator import build_evaluator
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.microbenchmark.select import run
from service.engine.planning.plan import select_plan
from tools.make_sample import OUTPUT

PROMISE = (1 - GateRule().confidence) / 2


def gpqa(shared):
    with gzip.open(shared / "data/gpqa/correctness.csv.gz", "rt") as lines:
        return np.loadtxt(lines, delimiter=",", skiprows=1, usecols=range(1, 449))


def sample():
    with np.load(OUTPUT, allow_pickle=False) as arrays:
        return arrays["scores"].astype(float)


def upper_limit(count, draws):
    """Upper 95 % limit of an observed rate, one-sided."""
    return stats.binomtest(count, draws).proportion_ci(0.9).high


def equal_pairs(scores):
    """PairedScores with the same full score and at least one example that tells them apart."""
    ahead = scores @ (1 - scores).T
    first, second = np.nonzero((ahead == ahead.T) & (ahead > 0))
    return np.column_stack((first, second))


def told_apart(scores, pair, drawn):
    first, second = scores[pair][:, drawn]
    return int((second > first).sum()), int((first > second).sum())


def false_alarms_of_equal_pairs(scores, n, draws, rng, truth="population"):
    pairs, gate = equal_pairs(scores), Gate.build(n, GateRule())
    total, failed = scores.shape[1], 0
    for _ in range(draws):
        pair = pairs[rng.integers(len(pairs))]
        drawn = rng.choice(total, n, replace=False)
        if truth == "population":
            gain, loss = told_apart(scores, pair, drawn)
            failed += loss >= gate.fails_from[gain + loss]
        else:
            answers = PairedScores(*scores[pair][:, drawn], Design.random(n, total))
            failed += difference(answers, truth="full_benchmark").interval[1] < 0
    return failed


def false_alarms_of_identical_models(scores, n, draws, rng, runs=1):
    """Both run the same model: right on each example as often as models of its ability are."""
    total, failed, gate = scores.shape[1], 0, Gate.build(n, GateRule())
    order = np.argsort(scores.mean(axis=1))
    for _ in range(draws):
        at = rng.integers(5, len(order) - 5)
        chance = scores[order[at - 5 : at + 5]].mean(axis=0)[rng.choice(total, n, replace=False)]
        answers = (rng.random((2, n, runs)) < chance[:, None]).astype(float).mean(axis=2)
        if runs == 1:
            gain, loss = told_apart(answers, [0, 1], np.arange(n))
            failed += loss >= gate.fails_from[gain + loss]
        else:
            failed += difference(PairedScores(*answers, Design.random(n, total))).interval[1] < 0
    return failed


def drops_found(scores, n, draws, rng):
    """Pairs whose true drop is within half a point of the smallest detectable at their disagreement."""
    gate, total = Gate.build(n, GateRule()), scores.shape[1]
    ahead = scores @ (1 - scores).T
    rates, drops = (ahead + ahead.T) / total, (ahead - ahead.T) / total
    grid = np.linspace(0.005, 1, 100)
    stated = np.interp(rates, grid, [smallest_detectable_drop(gate, rate) for rate in grid])
    pairs = np.argwhere((np.abs(drops - stated) <= 0.005) & (drops < rates))
    found = 0
    for pair in pairs[rng.integers(len(pairs), size=draws)]:
        gain, loss = told_apart(scores, pair, rng.choice(total, n, replace=False))
        found += loss >= gate.fails_from[gain + loss]
    return found


def scores_covered(scores, n, draws, rng):
    total, covered = scores.shape[1], 0
    for _ in range(draws):
        row = scores[rng.integers(len(scores))]
        low, high = design_score(row[rng.choice(total, n, replace=False)], Design.random(n, total), 0.95)[1]
        covered += low - 1e-12 <= row.mean() <= high + 1e-12
    return covered


@pytest.fixture(params=["gpqa", "sample"])
def scores(request):
    return sample() if request.param == "sample" else gpqa(request.getfixturevalue("shared"))


@pytest.mark.parametrize("n", [25, 100])
def test_pairs_equal_on_the_full_benchmark_fail_as_rarely_as_promised(scores, n):
    failed = false_alarms_of_equal_pairs(scores, n, 2000, np.random.default_rng(n))
    assert upper_limit(failed, 2000) < PROMISE + 0.01


def test_so_they_do_when_the_verdict_is_about_the_benchmark(scores):
    failed = false_alarms_of_equal_pairs(scores, 200, 600, np.random.default_rng(0), "full_benchmark")
    assert failed / 600 < PROMISE + 0.015


@pytest.mark.parametrize("runs", [1, 4])
def test_identical_models_fail_as_rarely_as_promised(scores, runs):
    failed = false_alarms_of_identical_models(scores, 100, 2000, np.random.default_rng(runs), runs)
    assert upper_limit(failed, 2000) < PROMISE + 0.01


def test_drops_of_the_stated_size_are_found_as_often_as_promised(scores):
    found = drops_found(scores, 100, 600, np.random.default_rng(0))
    assert found / 600 >= GateRule().power - 0.03


@pytest.mark.parametrize("n", [10, 100])
def test_intervals_of_full_scores_cover_as_named(scores, n):
    covered = scores_covered(scores, n, 1500, np.random.default_rng(n))
    assert covered / 1500 >= 0.935


@pytest.mark.shared
def test_on_gpqa_100_random_examples_leave_pairs_closer_than_the_mdad_undecided(shared):
    """Random's MDAD at 100 of 448 is 4 points; 95 % of the pairs closer than that are inconclusive."""
    scores, rng = gpqa(shared), np.random.default_rng(0)
    full, gate, rule = scores.mean(axis=1), Gate.build(100, GateRule()), GateRule()
    undecided = []
    while len(undecided) < 2000:
        pair = rng.choice(420, 2, replace=False)
        if abs(full[pair[0]] - full[pair[1]]) < 0.04:
            drawn = rng.choice(448, 100, replace=False)
            gain, loss = told_apart(scores, pair, drawn)
            decided = loss >= gate.fails_from[gain + loss] or loss <= gate.passes_to[gain + loss]
            undecided.append(not decided)
    assert np.mean(undecided) >= 0.95
    pair = rng.choice(420, 2, replace=False)
    drawn = rng.choice(448, 100, replace=False)
    gain, loss = told_apart(scores, pair, drawn)
    found = compare(*scores[pair][:, drawn], Design.random(100, 448), rule)
    assert (found.verdict == "fail") == (loss >= gate.fails_from[gain + loss])


@pytest.fixture(scope="module")
def designed(shared):
    """GPQA, 100 examples chosen by 300 of its models, and the rows of the other models."""
    scores, order = gpqa(shared), np.random.default_rng(0).permutation(420)
    names, examples = [f"m{i:03}" for i in range(420)], [f"e{j:03}" for j in range(448)]
    matrix = Matrix.build(names, examples, scores.astype(np.uint8))
    sources = [names[i] for i in sorted(order[:300])]
    asked = {"method": "optimal_design", "size": 100, "source_models": sources}
    chosen = run(matrix, select_plan(asked, Outline.of(matrix)), lambda _: None)
    return scores, build_evaluator(matrix, chosen, confidences=False), order[300:]


@pytest.mark.shared
@pytest.mark.parametrize("truth", ["population", "full_benchmark"])
def test_on_gpqa_optimal_design_decides_more_pairs_and_hardly_any_wrongly(designed, truth):
    scores, held, others = designed
    rng, rule, design = np.random.default_rng(1), GateRule(), Design.random(100, 448)
    full, by_random, by_design, wrong = scores.mean(axis=1), 0, 0, 0
    for _ in range(250):
        pair = rng.choice(others, 2, replace=False)
        drawn = rng.choice(448, 100, replace=False)
        by_random += compare(*scores[pair][:, drawn], design, rule, Setting(truth)).verdict != "inconclusive"
        answers = held.known.answers[pair]
        verdict = compare(*answers, held.design, rule, Setting(truth, evidence=held.evidence)).verdict
        ahead = full[pair[1]] - full[pair[0]]
        by_design += verdict != "inconclusive"
        wrong += (verdict == "pass" and ahead <= 0) or (verdict == "fail" and ahead >= 0)
    assert by_design > by_random
    assert wrong <= (1 - rule.confidence) * by_design


def main() -> None:
    """Print every rate for both sources."""
    shared = Path(__file__).parents[3].parent / "shared"
    sources = {"sample": sample()} | ({"gpqa": gpqa(shared)} if shared.is_dir() else {})
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    for name, scores in sources.items():
        rng = np.random.default_rng(0)
        for n in (25, 50, 100, 200):
            rates = {
                "false alarms, equal pairs": false_alarms_of_equal_pairs(scores, n, draws, rng),
                "false alarms, identical models": false_alarms_of_identical_models(scores, n, draws, rng),
                "coverage of full scores": scores_covered(scores, n, draws, rng),
            }
            if n >= 100:
                rates["stated drops found"] = drops_found(scores, n, draws, rng)
            for label, count in rates.items():
                limit = upper_limit(count, draws)
                print(f"{name:8} n={n:<4} {label:32} {count / draws:.4f} (upper limit {limit:.4f})")


if __name__ == "__main__":
    main()
