"""Random and stratified draws from the whole benchmark, evaluated by formula on all models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.data.matrix import Matrix
from service.engine.data.pairs import EQUAL, ModelPairs, choose_pairs, discordant, signs
from service.engine.experiment.curves import SAME, Cell, Curve
from service.engine.experiment.splits import generator
from service.engine.measures.draw_error import DrawError, normal_error, random_error, stratified_spread
from service.engine.measures.evaluate import AgreementResult, AgreementRule, evaluate_agreement
from service.engine.measures.random_agreement import OrderProbabilities, normal_agreement, random_agreement
from service.engine.measures.stratified_agreement import lattice, strata_agreement
from service.engine.planning.plan import Spec
from service.engine.selection.registry import METHODS
from service.engine.selection.stratified import Allocation, FittedStratified, pools

MOST_PAIRS = 100_000
MOST_CELLS = 150_000_000
"""Work spent on one size of a stratified draw: beyond it, the formula gives way to simulated draws."""

DRAWS = (200, 2000)
"""Fewest and most simulated draws; 2000 leave an error of mean agreement of some 0.0015."""

NO_TAU = {"kendall_tau": {"mean": None, "sd": None, "reason": "known only by simulation"}}

Check = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False)
class WholeBenchmark:
    """ModelPairs of all models on all examples, drawn with a fixed seed where they are too many.

    Attributes
    ----------
    difference : ndarray of float64, shape (P,)
        Of score sums; 0 for equal pairs.
    """

    matrix: Matrix
    rule: AgreementRule
    pairs: ModelPairs
    difference: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: Matrix, rule: AgreementRule, most: int = MOST_PAIRS) -> WholeBenchmark:
        """Choose the pairs and find their true differences."""
        pairs = choose_pairs(len(matrix.models), 1, most, generator(0, 0, "exact pairs"))
        sums = matrix.scores.sum(axis=1).astype(np.float64)
        difference = sums[pairs.first] - sums[pairs.second]
        equal = np.abs(difference) <= EQUAL * len(matrix.examples)
        return cls(matrix, rule, pairs, np.where(equal, 0.0, difference))

    def random(self, sizes: tuple[int, ...]) -> dict[int, Cell]:
        """Uniform draws of each size."""
        n = np.array(sizes)
        if self.matrix.binary:
            scores = self.matrix.scores.astype(np.uint8, copy=False)
            better, worse = discordant(scores, self.pairs.first, self.pairs.second)
            outcome = random_agreement(len(self.matrix.examples), better, worse, n)
        else:
            outcome = normal_agreement(self.matrix.scores, self.pairs.first, self.pairs.second, n)
        result = self._evaluate(outcome)
        return {size: Cell({SAME: (result, at)}) for at, size in enumerate(sizes)}

    def stratified(self, allocation: Allocation, size: int) -> tuple[Cell, dict[str, Any]]:
        """Stratified draws of one size, and what to note about them."""
        pool_of, draws = pools(np.bincount(self.matrix.strata), size, allocation)
        pool = pool_of[self.matrix.strata]
        sizes = np.bincount(pool)
        notes = self.notes
        if len(self.pairs.first) * len(draws) * lattice(sizes, draws).reach <= MOST_CELLS:
            outcome = strata_agreement(sizes, draws, *self._by_pool(pool, len(draws)))
        else:
            outcome, count = self._by_drawing(allocation, size)
            notes |= {"approximation": f"{count} simulated draws"}
        error = normal_error(stratified_spread(self.matrix.scores, pool, draws))
        extra = {SAME: NO_TAU | {"estimation_error": asdict(error)}}
        return Cell({SAME: (self._evaluate(outcome), 0)}, extra=extra), notes

    def _by_drawing(self, allocation: Allocation, size: int) -> tuple[OrderProbabilities, int]:
        """Share of simulated draws that order each pair rightly or leave it tied."""
        scores, pairs, rng = self.matrix.scores, self.pairs, generator(0, 0, "exact draws")
        count = int(np.clip(MOST_CELLS // (len(scores) * size + len(pairs.first)), *DRAWS))
        agree, tie = np.zeros((2, len(pairs.first)))
        for _ in range(count):
            subset = FittedStratified(allocation, self.matrix.strata, rng.permutation(scores.shape[1])).pick(
                size
            )
            estimates = scores[:, subset.indices] @ subset.weights
            order = signs(estimates[pairs.first] - estimates[pairs.second])
            agree += order * np.sign(self.difference) > 0
            tie += order == 0
        return OrderProbabilities(agree[:, None] / count, tie[:, None] / count), count

    @property
    def notes(self) -> dict[str, Any]:
        """What a reader must know of these numbers: sampled pairs, an approximation."""
        notes: dict[str, Any] = sampling_note(self.pairs)
        return notes if self.matrix.binary else notes | {"approximation": "normal"}

    def random_error(self, size: int) -> DrawError:
        """Estimation error of uniform draws of one size."""
        n_examples = len(self.matrix.examples)
        if self.matrix.binary:
            return random_error(n_examples, self.matrix.scores.sum(axis=1, dtype=np.int64), size)
        return normal_error(
            stratified_spread(self.matrix.scores, np.zeros(n_examples, dtype=np.int64), np.array([size]))
        )

    def _by_pool(self, pool: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Both b and c of each pair in each pool, each (P, K), for the model better on the whole."""
        better, worse = np.empty((2, len(self.pairs.first), count), dtype=np.int64)
        for k in range(count):
            scores = self.matrix.scores[:, pool == k].astype(np.uint8, copy=False)
            right = scores.sum(axis=1, dtype=np.int64)
            most, least = discordant(scores, self.pairs.first, self.pairs.second)
            ahead = (
                np.sign(right[self.pairs.first] - right[self.pairs.second]) * np.sign(self.difference) >= 0
            )
            better[:, k], worse[:, k] = np.where(ahead, most, least), np.where(ahead, least, most)
        return better, worse

    def _evaluate(self, outcome: OrderProbabilities) -> AgreementResult:
        return evaluate_agreement(
            self.pairs,
            np.arange(len(self.matrix.models))[None],
            np.abs(self.difference),
            len(self.matrix.examples),
            outcome.agree.T,
            outcome.tie.T,
            self.rule,
            counts=self.matrix.binary,
        )


def sampling_note(pairs: ModelPairs) -> dict[str, Any]:
    """Empty, or where pairs were sampled how many, and the most this adds to a standard error."""
    used = len(pairs.first)
    if not pairs.sampled:
        return {}
    return {"pairs_sampled": {"used": used, "possible": pairs.possible, "added_error": 0.5 / np.sqrt(used)}}


def random_curve(sizes: tuple[int, ...], whole: WholeBenchmark) -> Curve:
    """Uniform draws from the whole benchmark, by formula: what every result is set beside."""
    line = Curve(Spec("random", "random", "mean", {}, "scores", {}), None)
    if sizes:
        line.cells = whole.random(sizes)
        line.notes = dict.fromkeys(sizes, whole.notes)
        line.set_curve(SAME, len(whole.matrix.examples))
    return line


def exact_curve(spec: Spec, random: Curve, whole: WholeBenchmark, check: Check) -> Curve:
    """The line of a method that has a formula, on the sizes of `random`."""
    line = Curve(spec, None)
    for size, cell in random.cells.items():
        check(0.0)
        if METHODS[spec.method].traits.sample == "simple":
            extra = NO_TAU | {"estimation_error": asdict(whole.random_error(size))}
            line.cells[size], line.notes[size] = Cell(cell.results, extra={SAME: extra}), random.notes[size]
        else:
            line.cells[size], line.notes[size] = whole.stratified(spec.options["allocation"], size)
    line.set_curve(SAME, len(whole.matrix.examples))
    return line
