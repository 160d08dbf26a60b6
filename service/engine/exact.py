"""Random and stratified draws from the whole benchmark, judged by formula on all models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from service.engine.agreement import Outcome, random_agreement
from service.engine.judge import Judged, Rule, judge
from service.engine.lines import SAME, Cell, Line
from service.engine.matrix import Matrix
from service.engine.pairs import Pairs, Truth, choose_pairs, discordant
from service.engine.plan import Spec
from service.engine.resampling import LEAST_MODELS, Multiplicities
from service.engine.selection.stratified import Allocation, pools
from service.engine.splits import generator
from service.engine.strata_agreement import lattice, strata_agreement

MOST_PAIRS = 100_000
MOST_CELLS = 1_000_000_000
"""Complex products spent on one size of a stratified draw; bounds how many pairs it looks at."""

Check = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False)
class WholeBenchmark:
    """Pairs of all models on all examples, drawn with a fixed seed where they are too many."""

    matrix: Matrix
    rule: Rule
    pairs: Pairs
    truth: Truth

    @classmethod
    def of(cls, matrix: Matrix, rule: Rule, most: int = MOST_PAIRS) -> WholeBenchmark:
        """Choose the pairs and find their true differences."""
        pairs = choose_pairs(len(matrix.models), 1, most, generator(0, 0, "exact pairs"))
        sums = matrix.scores.sum(axis=1).astype(np.float64)
        difference = sums[pairs.first] - sums[pairs.second]
        truth = Truth.of(difference, len(matrix.examples), counts=matrix.binary)
        return cls(matrix, rule, pairs, truth)

    def random(self, sizes: tuple[int, ...]) -> dict[int, Cell]:
        """Uniform draws of each size."""
        n = np.array(sizes)
        if self.matrix.binary:
            scores = self.matrix.scores.astype(np.uint8, copy=False)
            better, worse = discordant(scores, self.pairs.first, self.pairs.second)
            outcome = random_agreement(len(self.matrix.examples), better, worse, n)
        else:
            outcome = normal_agreement(self.matrix, self.pairs, n)
        judged = self._judge(outcome)
        return {size: Cell({SAME: (judged, at)}) for at, size in enumerate(sizes)}

    def stratified(self, allocation: Allocation, size: int) -> tuple[Cell, dict[str, Any]]:
        """Stratified draws of one size, and what to note about them."""
        pool_of, draws = pools(np.bincount(self.matrix.strata), size, allocation)
        pool = pool_of[self.matrix.strata]
        sizes = np.bincount(pool)
        grid = lattice(sizes, draws)
        most = max(1000, MOST_CELLS // (len(draws) * (grid.reach + 1)))
        part = self if most >= len(self.pairs.first) else WholeBenchmark.of(self.matrix, self.rule, most)
        better, worse = part._by_pool(pool, len(draws))
        judged = part._judge(strata_agreement(sizes, draws, better, worse))
        notes = part.notes | ({} if grid.exact else {"approximation": "lattice"})
        return Cell({SAME: (judged, 0)}), notes

    @property
    def notes(self) -> dict[str, Any]:
        """What a reader must know of these numbers: sampled pairs, an approximation."""
        notes: dict[str, Any] = sampling_note(self.pairs)
        return notes if self.matrix.binary else notes | {"approximation": "normal"}

    def _by_pool(self, pool: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Both b and c of each pair in each pool, each (P, K), for the model better on the whole."""
        better, worse = np.empty((2, len(self.pairs.first), count), dtype=np.int64)
        for k in range(count):
            scores = np.ascontiguousarray(self.matrix.scores[:, pool == k]).astype(np.uint8, copy=False)
            right = scores.sum(axis=1, dtype=np.int64)
            most, least = discordant(scores, self.pairs.first, self.pairs.second)
            ahead = np.sign(right[self.pairs.first] - right[self.pairs.second]) * self.truth.sign >= 0
            better[:, k], worse[:, k] = np.where(ahead, most, least), np.where(ahead, least, most)
        return better, worse

    def _judge(self, outcome: Outcome) -> Judged:
        models = len(self.matrix.models)
        drawn = Multiplicities.draw(models, 1, generator(0, 0, "exact resamples"))
        rows = np.stack((self.pairs.first, self.pairs.second))
        drawn_or_none = drawn if models >= LEAST_MODELS else None
        return judge(
            self.pairs,
            rows,
            self.truth,
            outcome.agree.T,
            outcome.tie.T,
            self.rule,
            drawn_or_none,
            halves=False,
        )


def sampling_note(pairs: Pairs) -> dict[str, Any]:
    """Empty, or where pairs were sampled how many, and the most this adds to a standard error."""
    used = len(pairs.first)
    if not pairs.sampled:
        return {}
    return {"pairs_sampled": {"used": used, "possible": pairs.possible, "added_error": 0.5 / np.sqrt(used)}}


def normal_agreement(matrix: Matrix, pairs: Pairs, sizes: NDArray[np.integer]) -> Outcome:
    """Agreement of uniform draws on graded scores: normal, with the finite-population correction.

    Φ(Δ / sqrt(S² / n · (N − n) / N)) with S² the variance of the per-example
    differences; within 0.006 of half credit at n = 25 on 0/1 scores.
    """
    n_examples = len(matrix.examples)
    mean, spread = np.empty((2, len(pairs.first)))
    step = max(1, 4_000_000 // n_examples)
    for at in range(0, len(mean), step):
        block = slice(at, at + step)
        apart = matrix.scores[pairs.first[block]] - matrix.scores[pairs.second[block]]
        mean[block] = np.abs(apart.mean(axis=1))
        spread[block] = apart.std(axis=1, ddof=1)
    error = spread[:, None] * np.sqrt((1 / sizes) * (1 - sizes / n_examples))
    scaled = np.divide(mean[:, None], error, out=np.full(error.shape, np.inf), where=error > 0)
    return Outcome(ndtr(scaled), np.zeros(error.shape))


def exact_line(spec: Spec | None, sizes: tuple[int, ...], whole: WholeBenchmark, check: Check) -> Line:
    """The line of a method that has a formula; None is plain random sampling."""
    spec = spec or Spec("random", "random", "mean", {}, "scores")
    line = Line(spec, None)
    if spec.method == "random":
        line.cells = whole.random(sizes)
        line.notes = dict.fromkeys(sizes, whole.notes)
        return line
    for size in sizes:
        check(0.0)
        line.cells[size], line.notes[size] = whole.stratified(spec.options["allocation"], size)
    return line
