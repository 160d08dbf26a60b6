"""The score of an example from several attempts at it: mean, first, pass@k, pass^k and majority@k."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.engine.data.attempts import (
    FAILED,
    REFUSED,
    SCORED,
    SHOWN,
    WITHOUT_SCORE,
    AttemptsError,
    ModelAttempts,
)

ErrorPolicy = Literal["zero", "missing", "refuse"]
Kind = Literal["mean", "first", "pass@", "pass^", "majority@"]
Floats = NDArray[np.float64]
MOST_ATTEMPTS = 1_000
_WITH_NUMBER = re.compile(r"(pass@|pass\^|majority@)([1-9][0-9]{0,3})")
_HOW = "use mean, first, pass@k, pass^k or majority@k with k a number, like pass@5"


@dataclass(frozen=True, slots=True)
class ScoreRule:
    """How the score of an example follows from its attempts; `k` is None for mean and first."""

    kind: Kind
    k: int | None = None

    @classmethod
    def parse(cls, text: str) -> ScoreRule:
        """The rule with this name, like "pass@5".

        Raises
        ------
        AttemptsError
            There is no such rule.
        """
        if text == "mean":
            return cls("mean")
        if text == "first":
            return cls("first")
        found = _WITH_NUMBER.fullmatch(text)
        if found is None or int(found[2]) > MOST_ATTEMPTS:
            raise AttemptsError("score", f"{text!r} is not a score of attempts; {_HOW}.")
        kind: Kind = "pass@" if found[1] == "pass@" else "pass^" if found[1] == "pass^" else "majority@"
        return cls(kind, int(found[2]))

    def __str__(self) -> str:
        """Its name, as `parse` takes it."""
        return self.kind if self.k is None else f"{self.kind}{self.k}"


@dataclass(frozen=True, slots=True, eq=False)
class AttemptScores:
    """The scores of M models on N examples, and what they are scores of.

    Attributes
    ----------
    scores : ndarray of float64, shape (M, N)
        NaN where a model has no attempt that counts.
    counted : ndarray of uint16, shape (M, N)
        Attempts that count in each cell: the denominator.
    errors : ndarray of int64, shape (M,)
        Attempts of each model that were made and have no score: counted as 0, or not counted.
    """

    scores: Floats
    counted: NDArray[np.uint16]
    errors: NDArray[np.int64]


def pass_at_k(n: NDArray[np.int64], c: NDArray[np.int64], k: int) -> Floats:
    """Probability that at least one of k attempts, drawn from n of which c pass, passes.

    1 − C(n − c, k) / C(n, k), unbiased for the probability with k new attempts (Chen et al. 2021,
    arXiv 2107.03374, eq. 1).

    Parameters
    ----------
    n, c : ndarray of int64, shape (N,)
        k ≤ n.
    """
    return 1 - _all_of(n - c, n, k)


def pass_hat_k(n: NDArray[np.int64], c: NDArray[np.int64], k: int) -> Floats:
    """Probability that all of k attempts, drawn from n of which c pass, pass: C(c, k) / C(n, k).

    Yao et al. 2024, arXiv 2406.12045, section 4. Shapes as in `pass_at_k`.
    """
    return _all_of(c, n, k)


def majority_at_k(n: NDArray[np.int64], c: NDArray[np.int64], k: int) -> Floats:
    """Probability that most of k attempts, drawn from n of which c pass, pass; a tie counts one half.

    The hypergeometric distribution of the number that pass. Shapes as in `pass_at_k`.
    """
    total = np.zeros(len(n))
    for passing in range((k + 1) // 2, k + 1):
        share = 0.5 if 2 * passing == k else 1.0
        total += share * _hypergeometric(n, c, k, passing)
    return total


def score_attempts(
    models: Sequence[str], attempts: Sequence[ModelAttempts], rule: ScoreRule, errors: ErrorPolicy
) -> AttemptScores:
    """The score of each model on each example.

    Parameters
    ----------
    models : sequence of str, length M
        Their names, for messages.
    attempts : sequence of ModelAttempts, length M
        Over the same N examples.
    errors : "zero", "missing" or "refuse"
        What an attempt without a score counts as.

    Raises
    ------
    AttemptsError
        Cells have fewer attempts than the rule needs, attempts between 0 and 1 or attempts without an
        order where the rule needs either, or attempts without a score and `errors` is "refuse". The message
        has the number of cells.
    """
    faults = np.array([int(mine.number(WITHOUT_SCORE).sum()) for mine in attempts], dtype=np.int64)
    if errors == "refuse" and faults.any():
        found = {model: int(n) for model, n in zip(models, faults, strict=True) if n}
        raise AttemptsError(
            "errors", f"{errors_by_model(found)}; send errors=zero to count them as 0, or errors=missing."
        )
    counted = [_counted(mine, errors) for mine in attempts]
    if rule.kind == "first":
        _check_ordered(models, attempts)
    elif rule.k is not None:
        _check_enough(models, counted, rule)
        _check_binary(models, counted, rule)
    return AttemptScores(
        scores=np.array([_scores(mine, rule) for mine in counted]),
        counted=np.array([mine.n for mine in counted], dtype=np.uint16),
        errors=faults,
    )


def counting(errors: ErrorPolicy) -> tuple[int, ...]:
    """The outcomes that count in a score."""
    return (SCORED, FAILED, REFUSED, *(WITHOUT_SCORE if errors == "zero" else ()))


def errors_by_model(errors: dict[str, int]) -> str:
    """A phrase with the number of attempts without a score of each model, most first."""
    worst = sorted(errors.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"{number} of {model!r}" for model, number in worst[:SHOWN])
    more = f" and {len(worst) - SHOWN} more models" if len(worst) > SHOWN else ""
    total = sum(errors.values())
    return f"{total} {'attempt ended' if total == 1 else 'attempts ended'} without a score ({shown}{more})"


def _all_of(c: NDArray[np.int64], n: NDArray[np.int64], k: int) -> Floats:
    """C(c, k) / C(n, k), as a product without large numbers."""
    share = np.ones(len(n))
    for i in range(k):
        share *= np.maximum(c - i, 0) / (n - i)
    return share


def _hypergeometric(n: NDArray[np.int64], c: NDArray[np.int64], k: int, x: int) -> Floats:
    """Probability that exactly x of k attempts pass: C(c, x) C(n − c, k − x) / C(n, k)."""
    share = np.ones(len(n))
    for i in range(x):
        share *= np.maximum(c - i, 0) / (n - i) * (k - i) / (i + 1)
    for i in range(k - x):
        share *= np.maximum(n - c - i, 0) / (n - x - i)
    return share


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """The attempts of one model that count: their example and value, and how many each example has."""

    at: NDArray[np.intp]
    values: Floats
    n: NDArray[np.int64]


def _counted(attempts: ModelAttempts, errors: ErrorPolicy) -> _Counted:
    counts = np.isin(attempts.outcomes, counting(errors))
    at = attempts.examples[counts]
    n = np.bincount(at, minlength=len(attempts.counts)).astype(np.int64)
    return _Counted(at, attempts.values[counts].astype(np.float64), n)


def _scores(counted: _Counted, rule: ScoreRule) -> Floats:
    scores, n = np.full(len(counted.n), np.nan), counted.n
    if rule.kind == "first":
        scores[counted.at[::-1]] = counted.values[::-1]
        return scores
    some = n > 0
    sums = np.bincount(counted.at, counted.values, minlength=len(n))[some]
    if rule.k is None:
        scores[some] = sums / n[some]
    else:
        scores[some] = _BY_NUMBER[rule.kind](n[some], sums.astype(np.int64), rule.k)
    return scores


_BY_NUMBER = {"pass@": pass_at_k, "pass^": pass_hat_k, "majority@": majority_at_k}


def _check_ordered(models: Sequence[str], attempts: Sequence[ModelAttempts]) -> None:
    cells = [0 if mine.ordered else int((mine.counts > 1).sum()) for mine in attempts]
    if any(cells):
        raise AttemptsError(
            "score",
            f"the attempts in {_cells(models, cells)} have no order, so none is the first; use pass@1, which "
            "is the mean of attempts that pass or fail, or mean.",
        )


def _check_enough(models: Sequence[str], counted: Sequence[_Counted], rule: ScoreRule) -> None:
    cells = [int(((mine.n > 0) & (mine.n < (rule.k or 1))).sum()) for mine in counted]
    if any(cells):
        least = min(int(mine.n[mine.n > 0].min()) for mine in counted if mine.n.any())
        raise AttemptsError(
            "score",
            f"{rule} needs {rule.k} attempts that count in each cell, and {_cells(models, cells)} have fewer "
            f"(the least: {least}); ask for a smaller k, or send more attempts.",
        )


def _check_binary(models: Sequence[str], counted: Sequence[_Counted], rule: ScoreRule) -> None:
    graded = [mine.at[(mine.values != 0) & (mine.values != 1)] for mine in counted]
    cells = [len(np.unique(at)) for at in graded]
    if any(cells):
        raise AttemptsError(
            "score",
            f"{rule} is defined for attempts that pass or fail, and {_cells(models, cells)} have attempts "
            "with a score between 0 and 1; use mean or first.",
        )


def _cells(models: Sequence[str], cells: Sequence[int]) -> str:
    """A phrase with the number of cells, and the models that have most of them."""
    by = {model: n for model, n in zip(models, cells, strict=True) if n}
    worst = sorted(by, key=lambda model: (-by[model], model))
    shown = ", ".join(f"{by[model]} of {model!r}" for model in worst[:SHOWN])
    more = f" and {len(worst) - SHOWN} more models" if len(worst) > SHOWN else ""
    return f"{sum(cells)} cells ({shown}{more})"
