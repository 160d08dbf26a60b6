"""`optimal_design`: the examples whose answers say most about the full score.

How scores on the examples go together, at each ability of a new model, is learnt from the
source models (`ability_model`); examples are chosen one by one, each time the one that most
lowers the variance of the full score given the answers so far (`greedy`), and full scores
are predicted from the answers (`ability_predictor`). Nothing here is random; larger subsets
contain the smaller ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import ScoredBy, Source, Subset, Traits
from service.engine.data.errors import Unsuitable
from service.engine.prediction.ability_design import design_parts
from service.engine.prediction.ability_model import fit_ability_model
from service.engine.prediction.ability_predictor import AbilityPredictor
from service.engine.prediction.ability_prior import EXPECTATIONS, Expect
from service.engine.prediction.greedy import Greedy
from service.engine.prediction.informative_sample import informative_sample
from service.engine.prediction.model_assisted import assisted_scores
from service.engine.prediction.shrinkage import Floats

_LEAST_SOURCES = 2
_LARGEST = float(np.finfo(np.float64).max)


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
    expect : {"like", "better"}, default "like"
        What the models to be scored are expected to be, compared with the sources.
    guarantee : bool, default False
        Draw the examples at random, the informative ones with higher probability, and score by
        a model-assisted estimate: its interval holds whatever the model is.
    """

    name: ClassVar[str] = "optimal_design"
    estimators: ClassVar[tuple[str, ...]] = ("blp",)
    scored_by: ClassVar[ScoredBy] = "scores"
    traits: ClassVar[Traits] = Traits(elaborate=6)

    def __init__(
        self,
        include: Sequence[int] | None = None,
        exclude: Sequence[int] | None = None,
        per_subtask: int = 0,
        costs: Sequence[float] | None = None,
        budget: float | None = None,
        expect: Expect = "like",
        guarantee: bool = False,
    ) -> None:
        self.include = _indices("include", include)
        self.exclude = _indices("exclude", exclude)
        if both := np.intersect1d(self.include, self.exclude).tolist():
            raise ValueError(f"example {both[0]} is in include and in exclude")
        _check_quota(per_subtask)
        _check_spending(costs, budget)
        if expect not in EXPECTATIONS:
            raise ValueError(f"expect is like or better, not {expect!r}")
        if not isinstance(guarantee, bool):
            raise ValueError(f"guarantee is true or false, not {guarantee!r}")
        if guarantee and (len(self.exclude) or per_subtask or costs is not None or budget is not None):
            raise ValueError(
                "guarantee goes with include only; leave exclude, per_subtask, costs and budget out"
            )
        self.expect, self.guarantee = expect, guarantee
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
        return FittedDesign(self, source, float(rng.random()))


def _check_quota(per_subtask: object) -> None:
    if not isinstance(per_subtask, int) or isinstance(per_subtask, bool) or per_subtask < 0:
        raise ValueError(f"per_subtask is a whole number from 0, not {per_subtask!r}")


def _check_spending(costs: Sequence[float] | None, budget: float | None) -> None:
    if budget is not None and not _positive(budget):
        raise ValueError(f"budget is a number above 0, not {budget!r}")
    if costs is not None and not all(_positive(cost) for cost in costs):
        raise ValueError("costs are numbers above 0, one for each example")


class FittedDesign:
    """The order of choice and the predictors, each made as far as asked for.

    Parameters
    ----------
    design : OptimalDesign
    source : Source
    start : float
        In [0, 1): where a sample starts.
    """

    def __init__(self, design: OptimalDesign, source: Source, start: float) -> None:
        self._design, self._start = design, start
        self._model = fit_ability_model(source)
        self._parts = design_parts(source, self._model, design.expect)
        self._strata = source.strata
        self._order = self._greedy()
        self._predictors: dict[bytes, AbilityPredictor] = {}

    def pick(self, size: int) -> Subset:
        """The first `size` of the order.

        Raises
        ------
        Unsuitable
            The options leave no subset of this size.
        """
        if self._design.guarantee:
            chosen, inclusion = informative_sample(
                self._model, size, self._start, self._design.include, self._design.expect
            )
            return Subset(chosen, np.full(size, 1 / size), inclusion)
        return self._subset(self._order.first(size))

    def order(self, size: int) -> NDArray[np.int64]:
        """The first `size` examples, as they were chosen."""
        return self._order.first(size)

    def spend(self) -> Subset:
        """What the budget pays for.

        Raises
        ------
        Unsuitable
            It does not pay for one example, or for those that must be chosen.
        """
        if self._design.budget is None:
            raise Unsuitable("there is no budget to spend")
        chosen = self._greedy().within(self._design.budget)
        if not len(chosen):
            raise Unsuitable(f"a budget of {self._design.budget:g} does not pay for one example")
        return self._subset(chosen)

    def predictor(self, subset: Subset) -> AbilityPredictor:
        """What predicts full scores from answers on a subset."""
        key = subset.indices.tobytes()
        if key not in self._predictors:
            self._predictors[key] = AbilityPredictor(self._model, subset.indices, self._design.expect)
        return self._predictors[key]

    def estimate(self, subset: Subset, answers: Floats, estimator: str) -> Floats:
        """Full scores, shape (T,), from answers on the subset, shape (T, n)."""
        if subset.inclusion is not None:
            return assisted_scores(self._model, subset.indices, answers, subset.inclusion).score
        return self.predictor(subset).predict(answers).score

    def _greedy(self) -> Greedy:
        allowed = np.ones(len(self._strata), dtype=bool)
        allowed[self._design.exclude] = False
        return Greedy(
            self._parts,
            self._strata,
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
