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
class Known:
    """What is known before the first answer.

    Attributes
    ----------
    sources : ndarray, shape (S, N)
        Scores of the source models; S may be 0.
    observed : ndarray of bool, shape (S, N), optional
        False where a source's score is missing.
    baseline : ndarray of float64, shape (N,), optional
    clusters : ndarray of int64, shape (N,), optional
        Examples that stand or fall together.
    strata : ndarray of int, shape (N,)
        Subtask of each example.
    """

    sources: NDArray[np.uint8] | Floats
    observed: NDArray[np.bool_] | None
    baseline: Floats | None
    clusters: NDArray[np.int64] | None
    strata: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What answers are judged with.

    Attributes
    ----------
    order : ndarray of int64, shape (budget,)
        The examples, in the order in which they are asked.
    sizes : ndarray of float64, shape (N,), optional
        Relative probabilities to be asked; None where they are equal.
    model : AbilityModel, optional
    source : Source, optional
        Only where the order is designed.
    """

    known: Known
    order: NDArray[np.int64]
    sizes: Floats | None
    model: AbilityModel | None
    source: Source | None
    source_mean: Floats | None

    @property
    def examples(self) -> int:
        """N."""
        return len(self.known.strata)

    @property
    def cells(self) -> int:
        """What it weighs in memory, in numbers."""
        kept = 0 if self.model is None else self.model.cells
        return kept + 4 * self.examples + (0 if self.source is None else int(self.source.scores.size))

    def evidence(self, size: int) -> Evidence:
        """What full scores are estimated from when the first `size` examples are answered."""
        chosen = self.order[:size]
        if self.source is not None and self.model is not None:
            return DesignedEvidence(AbilityEstimator(self.model, chosen), self.source)
        if self.sizes is None:
            inclusion = np.full(size, size / self.examples)
        else:
            inclusion = proportional(self.sizes, size)[chosen]
        return SampledEvidence(chosen, inclusion, self.examples, self.model, self.source_mean)


def prepare(known: Known, budget: int, seed: int, mode: Mode = "random") -> Prepared:
    """Fit what the source models say, and put the examples in order.

    Parameters
    ----------
    known : Known
    budget : int
        Examples asked at most, 1 … N.
    seed : int
        Of the order.
    mode : "random" or "designed"
        `designed` needs a baseline and two source models with all scores.
    """
    rng = np.random.default_rng(seed)
    if mode == "designed":
        return _designed(known, budget, rng)
    count, total = known.sources.shape
    model = mean = None
    if count:
        model = fit_ability_model(Source(known.sources, known.strata), known.observed)
        mean = _mean(known)
    sizes = None
    if model is not None and model.models >= LEAST_MODELS:
        sizes = _sizes(model, known.baseline)
    keys = rng.random(total) if sizes is None else rng.random(total) / sizes
    order = np.argsort(keys, kind="stable")[:budget].astype(np.int64)
    return Prepared(known, order, sizes, model, None, mean)


def _designed(known: Known, budget: int, rng: np.random.Generator) -> Prepared:
    rows = known.sources
    if known.baseline is not None and not (rows == known.baseline).all(axis=1).any():
        kind = rows.dtype if np.isin(known.baseline, (0, 1)).all() else np.dtype(np.float64)
        rows = np.vstack((rows.astype(kind), known.baseline.astype(kind)))
    source = Source(rows, known.strata)
    order = OptimalDesign().fit(source, rng).order(budget)
    return Prepared(known, order, None, fit_ability_model(source), source, None)


def _mean(known: Known) -> Floats:
    scores = known.sources.astype(np.float64)
    if known.observed is None:
        return np.asarray(scores.mean(axis=0))
    counts = known.observed.sum(axis=0)
    sums = np.where(known.observed, scores, 0.0).sum(axis=0)
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
