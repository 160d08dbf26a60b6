"""The contract that every selection method implements.

fit(source, rng) learns from the source models once. Then pick(size) chooses examples, and
estimate(subset, answers) estimates full scores from answers on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from service.engine.data.matrix import Scores

ScoredBy = Literal["scores", "confidences"]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The data that a method may use: the source models' results on the examples to choose from.

    Attributes
    ----------
    scores : ndarray, shape (S, N)
        Complete, uint8 0/1 or float64 in [0, 1].
    strata : ndarray of int32, shape (N,)
        Subtask index of each example, 0 … K−1; all 0 without subtasks.
    confidences : ndarray of float32, shape (S, N), optional
    embeddings : ndarray of float32, shape (N, D), optional
    """

    scores: Scores
    strata: NDArray[np.int32]
    confidences: NDArray[np.float32] | None = None
    embeddings: NDArray[np.float32] | None = None

    @property
    def n_models(self) -> int:
        """Number of source models, S."""
        return int(self.scores.shape[0])

    @property
    def n_examples(self) -> int:
        """Number of examples to choose from, N."""
        return int(self.scores.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """A micro-benchmark: distinct example indices, ascending, and their weights.

    Attributes
    ----------
    indices : ndarray of int64, shape (n,)
        Columns of the source, ascending, distinct.
    weights : ndarray of float64, shape (n,)
        Positive, summing to 1.
    inclusion : ndarray of float64, shape (n,), optional
        Probability with which each was to be chosen, 1 for certain; None when it is no sample.
    """

    indices: NDArray[np.int64]
    weights: NDArray[np.float64]
    inclusion: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Traits:
    """What a method says of itself to those who plan experiments and recommend methods.

    Attributes
    ----------
    elaborate : int
        Of methods that do equally well, the least elaborate is recommended.
    sample : {"simple", "stratified"}, optional
        The probability sample it draws without a look at the source models, whose error has a formula;
        None for every other choice.
    by_subtask : bool
        It differs from others only where the benchmark has subtasks.
    """

    elaborate: int
    sample: Literal["simple", "stratified"] | None = None
    by_subtask: bool = False


class Fitted(Protocol):
    """A method that is fitted to its source models."""

    def pick(self, size: int) -> Subset:
        """Choose exactly `size` distinct examples, 1 ≤ size ≤ N."""

    def estimate(self, subset: Subset, answers: NDArray[np.float64], estimator: str) -> NDArray[np.float64]:
        """Full scores, shape (T,), from answers on the subset, shape (T, n)."""


@runtime_checkable
class Budgeted(Protocol):
    """A fitted method that has the option `budget`, and chooses what it pays for."""

    def spend(self) -> Subset:
        """The examples that the budget pays for."""


class Method(Protocol):
    """A method of choosing examples; one instance per request, with its options.

    Attributes
    ----------
    name : str
        The name in the API.
    estimators : tuple of str
        Names `Fitted.estimate` accepts; the first is the default.
    scored_by : "scores" or "confidences"
        What the target models' answers are by default (confidences only if the matrix has them).
    traits : Traits
    """

    name: ClassVar[str]
    estimators: ClassVar[tuple[str, ...]]
    scored_by: ClassVar[ScoredBy]
    traits: ClassVar[Traits]

    def __init__(self, **options: object) -> None:
        """Raises ValueError naming the option and the values it takes."""

    def fit(self, source: Source, rng: np.random.Generator) -> Fitted:
        """Learn from the source models.

        Raises
        ------
        Unsuitable
            The data do not suit this method; the text says why.
        """


def weighted_mean(subset: Subset, answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ weight × answer for each row of answers, shape (T,)."""
    return answers @ subset.weights
