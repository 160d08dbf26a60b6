"""`optimal_design`: the examples whose answers say most about the full score.

How scores on the examples go together is learnt from the source models (`covariance`);
examples are chosen one by one, each time the one that most lowers the variance of the
full score given the answers so far (`greedy`), and full scores are predicted from the
answers (`predictor`). Nothing here is random; larger subsets contain the smaller ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import ScoredBy, Source, Subset
from service.engine.data.errors import Unsuitable
from service.engine.prediction import blp
from service.engine.prediction.covariance import CAUTION, covariance, plain
from service.engine.prediction.greedy import Greedy
from service.engine.prediction.holdout_error import LEAST_MODELS, Folds, Spread, correction, spread, unchecked
from service.engine.prediction.linear import LinearPredictor
from service.engine.prediction.shrinkage import Floats

_LEAST_SOURCES = 2
_CORRECTED_FROM = 30
_LARGEST = float(np.finfo(np.float64).max)
_TRUSTED = 100
"""Source models whose word on single examples weighs as much as what is plain without it."""
_FOLD_SIZE = 128
"""Left-out models judge subsets up to this size; their correction and spread hold for larger ones."""


class OptimalDesign:
    """Greedy design for best linear prediction.

    Parameters
    ----------
    include : sequence of int, optional
        Examples that must be chosen, by index; chosen first.
    exclude : sequence of int, optional
        Examples that must not be.
    per_subtask : int, default 0
        Least number from each subtask, or all where it has fewer.
    costs : sequence of float, optional
        What each example costs to run, above 0 (tokens, seconds); gains are then per cost.
    budget : float, optional
        What `FittedDesign.spend` may spend; one per example without costs.
    """

    name: ClassVar[str] = "optimal_design"
    estimators: ClassVar[tuple[str, ...]] = ("blp",)
    scored_by: ClassVar[ScoredBy] = "scores"

    def __init__(
        self,
        include: Sequence[int] | None = None,
        exclude: Sequence[int] | None = None,
        per_subtask: int = 0,
        costs: Sequence[float] | None = None,
        budget: float | None = None,
    ) -> None:
        self.include = _indices("include", include)
        self.exclude = _indices("exclude", exclude)
        if both := np.intersect1d(self.include, self.exclude).tolist():
            raise ValueError(f"example {both[0]} is in include and in exclude")
        if not isinstance(per_subtask, int) or isinstance(per_subtask, bool) or per_subtask < 0:
            raise ValueError(f"per_subtask is a whole number from 0, not {per_subtask!r}")
        if budget is not None and not _positive(budget):
            raise ValueError(f"budget is a number above 0, not {budget!r}")
        if costs is not None and not all(_positive(cost) for cost in costs):
            raise ValueError("costs are numbers above 0, one for each example")
        self.per_subtask = per_subtask
        self.costs = None if costs is None else np.array(costs, dtype=np.float64)
        self.budget = None if budget is None else float(budget)

    def fit(self, source: Source, rng: np.random.Generator) -> FittedDesign:
        """Learn the covariance.

        Raises
        ------
        Unsuitable
            Fewer than two source models, or an option that does not fit the examples.
        """
        if source.n_models < _LEAST_SOURCES:
            raise Unsuitable(
                f"optimal_design learns from {_LEAST_SOURCES} or more source models; "
                f"there are {source.n_models}"
            )
        named = np.concatenate((self.include, self.exclude))
        if named.size and named.max() >= source.n_examples:
            raise Unsuitable(f"include and exclude name example {named.max()} of {source.n_examples}")
        if self.costs is not None and len(self.costs) != source.n_examples:
            raise Unsuitable(f"there are {len(self.costs)} costs for {source.n_examples} examples")
        return FittedDesign(self, source)


class FittedDesign:
    """The order of choice and the predictor, each made as far as asked for.

    Parameters
    ----------
    design : OptimalDesign
    source : Source
    """

    def __init__(self, design: OptimalDesign, source: Source) -> None:
        self._design, self._source = design, source
        self._blp = blp.fit(source)
        self._order = self._greedy(source)
        self._folds = Folds(source, self._blp.covariance.intensity, lambda part: self._greedy(part).first)
        self._predictors: dict[bytes, LinearPredictor] = {}

    def pick(self, size: int) -> Subset:
        """The first `size` of the order.

        Raises
        ------
        Unsuitable
            The options leave no subset of this size.
        """
        return self._subset(self._order.first(size))

    def spend(self) -> Subset:
        """What the budget pays for.

        Raises
        ------
        Unsuitable
            It does not pay for one example, or for those that must be chosen.
        """
        if self._design.budget is None:
            raise Unsuitable("there is no budget to spend")
        chosen = self._greedy(self._source).within(self._design.budget)
        if not len(chosen):
            raise Unsuitable(f"a budget of {self._design.budget:g} does not pay for one example")
        return self._subset(chosen)

    def predictor(self, subset: Subset) -> LinearPredictor:
        """The linear predictor from answers on a subset, corrected by left-out source models."""
        key = subset.indices.tobytes()
        if key not in self._predictors:
            by = self._blp.predictor(subset.indices)
            if by.share < 1 and self._source.n_models >= _CORRECTED_FROM:
                by = by.corrected(*correction(self._folds.left_out(self._judged(subset))))
            self._predictors[key] = by
        return self._predictors[key]

    def estimate(self, subset: Subset, answers: Floats, estimator: str) -> Floats:
        """Full scores, shape (T,), from answers on the subset, shape (T, n)."""
        return self.predictor(subset).estimate(answers)

    def interval(self, subset: Subset, answers: Floats, level: float = 0.9) -> Floats:
        """Lower and upper end for each full score, shape (T, 2); covers it with probability `level`."""
        return blp.interval(*self._errors(subset, answers), blp.freedom(self._source), level)

    def better(self, subset: Subset, first: Floats, second: Floats) -> Floats:
        """Probability that each first model's full score is above the second's; answers (T, n) → (T,)."""
        errors = (self._errors(subset, answers) for answers in (first, second))
        return blp.better(next(errors), next(errors), blp.freedom(self._source))

    def _errors(self, subset: Subset, answers: Floats) -> tuple[Floats, Floats]:
        """Estimates and the standard deviations of their errors, each (T,)."""
        by = self.predictor(subset)
        estimates = by.estimate(answers)
        return estimates, by.deviation * self._spread(subset, by)(estimates)

    def _spread(self, subset: Subset, by: LinearPredictor) -> Spread:
        if by.share == 1 or self._source.n_models < LEAST_MODELS:
            return unchecked(self._source.n_models)
        left = self._folds.left_out(self._judged(subset))
        if self._source.n_models < _CORRECTED_FROM:
            return spread(left)
        return spread(left, *correction(left))

    def _judged(self, subset: Subset) -> int:
        return max(min(len(subset.indices), _FOLD_SIZE, self._order.most), self._order.least, 1)

    def _greedy(self, source: Source) -> Greedy:
        allowed = np.ones(self._source.n_examples, dtype=bool)
        allowed[self._design.exclude] = False
        return Greedy(
            covariance(source, share=self._blp.covariance.intensity, caution=CAUTION),
            plain(source),
            _TRUSTED / (_TRUSTED + source.n_models),
            self._source.strata,
            include=self._design.include,
            allowed=allowed,
            per_subtask=self._design.per_subtask,
            costs=self._design.costs,
        )

    @staticmethod
    def _subset(chosen: NDArray[np.int64]) -> Subset:
        return Subset(np.sort(chosen), np.full(len(chosen), 1 / len(chosen)))


def _indices(name: str, values: Sequence[int] | None) -> NDArray[np.int64]:
    found = list(values or ())
    if any(not isinstance(v, int) or isinstance(v, bool) or v < 0 for v in found) or len(set(found)) < len(
        found
    ):
        raise ValueError(f"{name} lists distinct examples by index")
    return np.array(found, dtype=np.int64)


def _positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LARGEST
