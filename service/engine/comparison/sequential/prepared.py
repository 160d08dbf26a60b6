"""What a session works out once: what is known of every example, and in which order they are asked.

`random`: every order is equally likely. Where examples differ much in how uncertain their answers
are, the uncertain ones come sooner: order sampling with probabilities proportional to size
(Rosén 1997, J. Stat. Plan. Inference 62:159). Each prefix of the order is then a probability sample, so
intervals hold whatever the candidate is. `designed`: the order of `optimal_design`, with the
baseline among the source models; estimates and intervals are the model's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.comparison.full_scores import LEAST_MODELS, DesignedEvidence, Evidence, SampledEvidence
from service.engine.data.contracts import Source
from service.engine.prediction.ability_model import AbilityModel, fit_ability_model
from service.engine.prediction.informative_sample import proportional
from service.engine.prediction.model_assisted import mean_at_score
from service.engine.selection.optimal_design import OptimalDesign

Floats = NDArray[np.float64]
Mode = Literal["random", "designed"]

_EVEN = 0.3
"""Part of an example's size that all have in common: no probability comes near 0."""
_WORTHWHILE = 0.08
"""Share of the spread that unequal probabilities save, from which they are used."""


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """What the source models say, learnt once for all sessions on a benchmark.

    Attributes
    ----------
    scores : ndarray, shape (S, N)
        S may be 0.
    strata : ndarray of int32, shape (N,)
        Subtask of each example.
    model : AbilityModel, optional
        None without source models.
    mean : ndarray of float64, shape (N,), optional
        Mean of their scores.
    """

    scores: NDArray[np.uint8] | Floats
    strata: NDArray[np.int32]
    model: AbilityModel | None
    mean: Floats | None

    @property
    def cells(self) -> int:
        """What it weighs in memory, in numbers."""
        return int(self.scores.size) // 8 + (0 if self.model is None else self.model.cells)


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What a session knows before the first answer.

    Attributes
    ----------
    sources : Sources
    baseline : ndarray of float64, shape (N,), optional
    clusters : ndarray of int64, shape (N,), optional
        Examples that stand or fall together.
    """

    sources: Sources
    baseline: Floats | None = None
    clusters: NDArray[np.int64] | None = None

    @property
    def examples(self) -> int:
        """N."""
        return len(self.sources.strata)


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The order in which examples are asked.

    Attributes
    ----------
    examples : ndarray of int64, shape (budget,)
    sizes : ndarray of float64, shape (N,), optional
        Relative probabilities to be asked; None where they are equal or the order is designed.
    """

    examples: NDArray[np.int64]
    sizes: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What answers are judged with.

    Attributes
    ----------
    known : Known
    order : ndarray of int64, shape (budget,)
    sizes : ndarray of float64, shape (N,), optional
        As of `Order`.
    designed : Sources, optional
        With the baseline among them, where the order is designed.
    """

    known: Known
    order: NDArray[np.int64]
    sizes: Floats | None
    designed: Sources | None = None

    @property
    def examples(self) -> int:
        """N."""
        return self.known.examples

    def evidence(self, size: int) -> Evidence:
        """What full scores are estimated from when the first `size` examples are answered."""
        chosen, sources = self.order[:size], self.known.sources
        if self.designed is not None and self.designed.model is not None:
            joined = Source(self.designed.scores, self.designed.strata)
            return DesignedEvidence(AbilityEstimator(self.designed.model, chosen), joined)
        if self.sizes is None:
            inclusion = np.full(size, size / self.examples)
        else:
            inclusion = proportional(self.sizes, size)[chosen]
        return SampledEvidence(chosen, inclusion, self.examples, sources.model, sources.mean)


def learn(
    scores: NDArray[np.uint8] | Floats, strata: NDArray[np.int32], observed: NDArray[np.bool_] | None = None
) -> Sources:
    """Fit what the source models say.

    Parameters
    ----------
    scores : ndarray, shape (S, N)
    strata : ndarray of int32, shape (N,)
    observed : ndarray of bool, shape (S, N), optional
        False where a score is missing.
    """
    if not len(scores):
        return Sources(scores, strata, None, None)
    return Sources(
        scores, strata, fit_ability_model(Source(scores, strata), observed), _mean(scores, observed)
    )


def put_in_order(known: Known, budget: int, seed: int, mode: Mode = "random") -> Order:
    """The first `budget` examples to ask.

    Parameters
    ----------
    known : Known
    budget : int
        1 … N.
    seed : int
    mode : "random" or "designed"
        `designed` needs two source models, the baseline counted.
    """
    rng = np.random.default_rng(seed)
    if mode == "designed":
        joined = _joined(known)
        design = OptimalDesign().fit(Source(joined.scores, joined.strata), rng)
        return Order(design.order(budget))
    model, sizes = known.sources.model, None
    if model is not None and model.models >= LEAST_MODELS:
        sizes = _sizes(model, known.baseline)
    keys = rng.random(known.examples) if sizes is None else rng.random(known.examples) / sizes
    return Order(np.argsort(keys, kind="stable")[:budget].astype(np.int64), sizes)


def prepare(known: Known, order: Order, mode: Mode = "random") -> Prepared:
    """What answers in this order are judged with."""
    return Prepared(known, order.examples, order.sizes, _joined(known) if mode == "designed" else None)


def _joined(known: Known) -> Sources:
    """The sources with the baseline among them."""
    rows, baseline = known.sources.scores, known.baseline
    if baseline is None or (len(rows) and (rows == baseline).all(axis=1).any()):
        return known.sources
    kind = rows.dtype if np.isin(baseline, (0, 1)).all() else np.dtype(np.float64)
    return learn(np.vstack((rows.astype(kind), baseline.astype(kind))), known.sources.strata)


def _mean(scores: NDArray[np.uint8] | Floats, observed: NDArray[np.bool_] | None) -> Floats:
    if observed is None:
        return np.asarray(scores.mean(axis=0, dtype=np.float64))
    counts = observed.sum(axis=0)
    sums = np.where(observed, scores, 0.0).sum(axis=0)
    overall = sums.sum() / max(counts.sum(), 1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), overall))


def _sizes(model: AbilityModel, baseline: Floats | None) -> Floats | None:
    """Deviation of each answer at the baseline's ability, made more even; None where equal will do."""
    middle = model.mean[int(np.argmin(np.abs(model.grid)))]
    p = middle if baseline is None else mean_at_score(model, baseline)
    spread = np.sqrt(p * (1 - p))
    if 1 - spread.mean() ** 2 / (spread**2).mean() < _WORTHWHILE:
        return None
    return np.asarray(_EVEN * spread.mean() + (1 - _EVEN) * spread)
