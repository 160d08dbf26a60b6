"""Scores from attempts, against published values and against all subsets counted one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from service.engine.data.attempt_scores import (
    ErrorPolicy,
    ScoreRule,
    majority_at_k,
    pass_at_k,
    pass_hat_k,
    score_attempts,
)
from service.engine.data.attempts import (
    ERRORED,
    FAILED,
    NOT_RUN,
    REFUSED,
    SCORED,
    TIMED_OUT,
    AttemptsError,
    ModelAttempts,
    single_attempts,
)


def attempts(
    *cells: list[float], outcomes: list[list[int]] | None = None, ordered: bool = True
) -> ModelAttempts:
    values = np.array([value for cell in cells for value in cell], dtype=np.float64)
    ends = np.zeros(len(values)) if outcomes is None else np.concatenate(outcomes)
    counts = np.array([len(cell) for cell in cells], dtype=np.uint16)
    return ModelAttempts(counts, values, ends.astype(np.uint8), ordered)


def scored(mine: ModelAttempts, rule: str, errors: ErrorPolicy = "refuse") -> list[float]:
    found: list[float] = score_attempts(["m"], [mine], ScoreRule.parse(rule), errors).scores[0].tolist()
    return found


@pytest.mark.parametrize(
    ("rule", "n", "c", "expected"),
    [
        ("pass@1", 5, 2, 0.4),
        ("pass@2", 5, 2, 0.7),
        ("pass@3", 5, 2, 0.9),
        ("pass^2", 5, 2, 0.1),
        ("pass@5", 10, 3, 1 - 21 / 252),
    ],
)
def test_published_values(rule: str, n: int, c: int, expected: float) -> None:
    (score,) = scored(attempts([1.0] * c + [0.0] * (n - c)), rule)

    assert score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 1), (4, 2), (4, 4), (7, 1), (7, 2), (7, 3), (7, 4)])
def test_each_rule_is_the_mean_over_all_subsets(n: int, k: int) -> None:
    for c in range(n + 1):
        draws = [sum(draw) for draw in combinations([1] * c + [0] * (n - c), k)]
        size, right = np.array([n]), np.array([c])

        assert pass_at_k(size, right, k)[0] == pytest.approx(np.mean([x > 0 for x in draws]))
        assert pass_hat_k(size, right, k)[0] == pytest.approx(np.mean([x == k for x in draws]))
        most = np.mean([(2 * x > k) + 0.5 * (2 * x == k) for x in draws])
        assert majority_at_k(size, right, k)[0] == pytest.approx(most)


def test_many_attempts_do_not_overflow() -> None:
    score = pass_at_k(np.array([1000]), np.array([1]), 500)

    assert score[0] == pytest.approx(0.5)


def test_cells_are_ragged_and_one_without_attempts_has_no_score() -> None:
    mine = attempts([1.0, 0.0], [], [0.5, 1.0, 0.0])

    means, first = scored(mine, "mean"), scored(mine, "first")

    assert means[0] == 0.5
    assert np.isnan(means[1])
    assert means[2] == 0.5
    assert first[0] == 1
    assert np.isnan(first[1])
    assert first[2] == 0.5


@pytest.mark.parametrize(("errors", "score", "denominator"), [("zero", 1 / 4, 4), ("missing", 1 / 3, 3)])
def test_errors_count_as_zero_or_not_at_all(errors: ErrorPolicy, score: float, denominator: int) -> None:
    mine = attempts([1.0, 0.0, 0.0, 0.0], outcomes=[[SCORED, FAILED, REFUSED, TIMED_OUT]])

    found = score_attempts(["m"], [mine], ScoreRule("mean"), errors)

    assert found.scores[0, 0] == pytest.approx(score)
    assert found.counted[0, 0] == denominator
    assert found.errors.tolist() == [1]


def test_errors_are_refused_with_their_number_by_model() -> None:
    good = attempts([1.0], [1.0])
    bad = attempts([1.0, 0.0], [0.0], outcomes=[[SCORED, ERRORED], [TIMED_OUT]])

    with pytest.raises(AttemptsError, match=r"2 attempts ended without a score \(2 of 'b'\)") as refusal:
        score_attempts(["a", "b"], [good, bad], ScoreRule("mean"), "refuse")

    assert refusal.value.field == "errors"


def test_too_few_attempts_are_refused_with_the_number_of_cells() -> None:
    one, other = attempts([1.0, 0.0], [1.0], []), attempts([1.0], [1.0], [0.0, 0.0])

    with pytest.raises(AttemptsError, match=r"pass@2 needs 2 .* 3 cells \(2 of 'b', 1 of 'a'\)"):
        score_attempts(["a", "b"], [one, other], ScoreRule.parse("pass@2"), "refuse")


def test_a_cell_short_only_without_its_errors_is_refused_unless_they_count() -> None:
    mine = attempts([1.0, 0.0], outcomes=[[SCORED, ERRORED]])

    assert scored(mine, "pass@2", "zero") == [1.0]
    with pytest.raises(AttemptsError, match="1 cells"):
        scored(mine, "pass@2", "missing")


def test_first_needs_an_order_and_pass_at_k_attempts_that_pass_or_fail() -> None:
    with pytest.raises(AttemptsError, match=r"1 cells .* have no order"):
        scored(attempts([1.0, 0.0], [1.0], ordered=False), "first")
    with pytest.raises(AttemptsError, match="between 0 and 1"):
        scored(attempts([0.5, 0.0]), "pass@1")


@pytest.mark.parametrize("text", ["pass@0", "pass@k", "median", "pass@1001", "first@2", ""])
def test_unknown_rules_are_refused(text: str) -> None:
    with pytest.raises(AttemptsError, match="is not a score of attempts"):
        ScoreRule.parse(text)


def test_taken_and_joined_attempts_stay_with_their_examples() -> None:
    mine = attempts([1.0, 0.0], [], [0.5])

    taken = mine.take(np.array([2, 0, 1]))
    both = mine.joined(attempts([0.0], [1.0], []))

    assert taken.counts.tolist() == [1, 2, 0]
    assert taken.values.tolist() == [0.5, 1.0, 0.0]
    assert both.counts.tolist() == [3, 1, 1]
    assert both.values.tolist() == [1.0, 0.0, 0.0, 1.0, 0.5]


def test_a_row_of_a_matrix_is_one_attempt_an_example() -> None:
    states = np.array([SCORED, ERRORED, NOT_RUN, SCORED], dtype=np.uint8)
    row = np.array([1, 0, 0, 0], dtype=np.uint8)

    mine = single_attempts(row, states != SCORED, states)

    assert mine.counts.tolist() == [1, 1, 0, 1]
    assert mine.outcomes.tolist() == [SCORED, ERRORED, SCORED]
