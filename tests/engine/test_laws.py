"""Laws of the numbers, whatever the method: each through a whole experiment or comparison."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from service.engine.comparison import Design, GateRule, compare
from service.engine.data.matrix import Matrix
from service.engine.experiment.trials import run_trials
from service.engine.selection.registry import METHODS
from tests.engine import made

MODELS, EXAMPLES = 24, 60
SUBTASKS = [f"s{j % 3}" for j in range(EXAMPLES)]
WEIGHTED = [name for name, method in METHODS.items() if method.estimators[0] in ("mean", "weighted")]


def test_a_model_right_on_everything_is_estimated_one_and_wrong_on_everything_zero() -> None:
    scores = made.answers(MODELS, EXAMPLES)
    scores[0], scores[1] = 1, 0
    data = made.matrix(scores, SUBTASKS)
    plan = made.plan_of(
        data,
        {"methods": WEIGHTED, "sizes": [1, 7, 30], "trials": 3, "group": ["m000", "m001"], "holdout": 0.5},
    )
    found = run_trials(plan, data, 0, 3, made.silent)
    for model, expected in ((0, 1), (1, 0)):
        estimates = found.scores[..., found.targets == model]
        assert estimates.size == len(WEIGHTED) * 3 * 3
        assert estimates == pytest.approx(np.full(estimates.shape, expected))


def test_permuting_models_and_examples_changes_no_number_of_any_method() -> None:
    data = made.matrix(made.answers(MODELS, EXAMPLES), SUBTASKS)
    rows, columns = (
        np.random.default_rng(3).permutation(MODELS),
        np.random.default_rng(4).permutation(EXAMPLES),
    )
    shuffled = Matrix.build(
        [data.models[i] for i in rows],
        [data.examples[j] for j in columns],
        data.scores[np.ix_(rows, columns)],
        subtasks=[data.subtasks[data.strata[j]] for j in columns],
    )
    request = {"methods": list(METHODS), "trials": 2, "sizes": [5, 20]}
    assert made.run(data, **request) == made.run(shuffled, **request)


@pytest.mark.parametrize("examples", [30, 200])
def test_one_more_example_that_both_get_right_changes_no_verdict(examples: int) -> None:
    for b, c in itertools.product((0, 1, 3, 8), (0, 2, 5, 6, 10, 14)):
        verdicts = set()
        for n in (examples, examples + 1, examples + 40):
            place = np.arange(n)
            first, second = place >= c, (place < c) | (place >= b + c)
            verdicts.add(compare(first * 1.0, second * 1.0, Design.random(n, 10**6), GateRule()).verdict)
        assert len(verdicts) == 1, (b, c, verdicts)


def test_one_more_example_that_all_get_right_orders_every_pair_as_before() -> None:
    scores = made.answers(MODELS, EXAMPLES)
    more = np.column_stack((scores, np.ones(MODELS, dtype=np.uint8)))
    group = [f"m{i:03}" for i in range(MODELS)]
    request = {"methods": ["random"], "target_models": "all", "holdout": 0, "sizes": [10], "group": group}
    before, after = (made.run(made.matrix(rows), **request) for rows in (scores, more))
    for key in ("pairs", "equal_pairs"):
        assert before["exact_random"][0]["same_items"][key] == after["exact_random"][0]["same_items"][key]
    orders = [[pair["models"] for pair in result["group"]["pairs"]] for result in (before, after)]
    assert orders[0] == orders[1]


def test_duplicating_every_example_changes_no_accuracy_and_no_difference() -> None:
    scores = made.answers(MODELS, EXAMPLES)
    once, twice = made.matrix(scores), made.matrix(np.repeat(scores, 2, axis=1))
    assert once.accuracies == pytest.approx(twice.accuracies, abs=1e-15)
    request = {"methods": ["random"], "target_models": "all", "holdout": 0, "sizes": [10]}
    curves = [made.run(data, **request)["exact_random"][0]["same_items"]["curve"] for data in (once, twice)]
    assert [(p["difference"], p["pairs"]) for p in curves[0]] == [
        (p["difference"], p["pairs"]) for p in curves[1]
    ]


def test_exchanging_the_labels_of_two_models_exchanges_them_in_their_pair() -> None:
    scores = made.answers(MODELS, EXAMPLES)
    swapped = scores.copy()
    swapped[[2, 9]] = scores[[9, 2]]
    request = {"methods": ["random"], "group": ["m002", "m009"], "trials": 2, "sizes": [10]}
    (one,), (other,) = (
        made.run(made.matrix(rows), **request)["group"]["pairs"] for rows in (scores, swapped)
    )
    assert one["models"] == other["models"][::-1]
    assert (one["difference"], one["disagreement"]) == (other["difference"], other["disagreement"])
    there, back = (
        compare(scores[i] * 1.0, scores[j] * 1.0, Design.random(EXAMPLES, 600), GateRule())
        for i, j in ((2, 9), (9, 2))
    )
    assert there.difference == -back.difference
    assert there.interval == pytest.approx((-back.interval[1], -back.interval[0]))
