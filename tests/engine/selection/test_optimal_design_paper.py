"""`optimal_design` on the paper's GPQA experiment: no larger MDAD than the best known before it."""

import csv
import gzip

import numpy as np
import pytest

from service.engine.data.contracts import Source
from service.engine.data.matrix import Matrix
from service.engine.planning.plan import Outline, mdad_plan
from service.engine.reliability import mdad_job
from service.engine.selection.optimal_design import OptimalDesign

SIZES = [10, 25, 50, 100, 200]
SEEDS = range(5)
SAME = {300: [0.045, 0.036, 0.030, 0.024, 0.005], 10: [0.064, 0.045, 0.040, 0.033, 0.010]}

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def gpqa(shared):
    with gzip.open(shared / "data" / "gpqa" / "correctness.csv.gz", "rt") as lines:
        header, *rows = csv.reader(lines)
    scores = np.array([row[1:] for row in rows]).astype(float)
    return Matrix.build([row[0] for row in rows], header[1:], scores)


def mdads(matrix, sources, seed):
    """By size: same items, new items; strict ties, first crossing, 50 trials of 50 targets."""
    request = {
        "methods": ["optimal_design"],
        "sizes": SIZES,
        "source_models": sources,
        "target_models": 50,
        "paper_compat": True,
        "seed": seed,
    }
    plan = mdad_plan(request, Outline.of(matrix))
    pieces = mdad_job.run_all(matrix, plan, lambda done: None)
    sizes = mdad_job.assemble(matrix, plan, pieces, lambda done: None)["methods"][0]["sizes"]
    return [[cell[truth]["mdad_paper"] for cell in sizes] for truth in ("same_items", "new_items")]


@pytest.mark.parametrize("sources", [300, 10])
def test_mdad_on_the_papers_protocol(gpqa, sources):
    same, new = np.mean([mdads(gpqa, sources, seed) for seed in SEEDS], axis=0)

    assert (same <= np.array(SAME[sources]) + 1e-9).all(), same
    if sources == 300:
        assert (new <= 0.075).all(), new


@pytest.mark.parametrize("sources", [50, 300])
def test_intervals_hold_for_language_models_not_seen(gpqa, sources):
    inside, place = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        models, examples = rng.permutation(420), np.sort(rng.permutation(448)[:224])
        scores = gpqa.scores[:, examples].astype(float)
        rows = np.sort(models[50 : 50 + sources])
        fitted = OptimalDesign().fit(
            Source(gpqa.scores[np.ix_(rows, examples)], np.zeros(224, dtype=np.int32)), rng
        )
        targets, truth = scores[models[:50]], scores[models[:50]].mean(axis=1)
        for size in (10, 25, 50, 100):
            subset = fitted.pick(size)
            answers = targets[:, subset.indices]
            low, high = fitted.predictor(subset).predict(answers).interval().T
            inside.append((low <= truth) & (truth <= high))
            place.append(np.argsort(np.argsort(fitted.estimate(subset, answers, "blp"))))
    covered, rank = np.array(inside), np.array(place)

    by_size = covered.reshape(10, 4, 50).mean(axis=(0, 2))
    assert (by_size > 0.85).all(), by_size
    assert (by_size < 0.99).all(), by_size
    assert 0.84 < covered[rank < 10].mean() < 0.99
    assert 0.82 < covered[rank >= 40].mean() < 0.99
