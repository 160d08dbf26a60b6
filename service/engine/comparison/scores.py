"""What a new model would score on the full benchmark, from its answers on a selection.

JSON of each answer (`dataclasses.asdict`):

    {score, interval: [low, high], standard_error, basis: design | model,
     estimator: plain | regression | assisted | predicted | weighted,
     effective_size | null (nothing is unknown),         random examples whose mean would tell as much
     answered, asked, coverage, bounds: [low, high] | null (nothing missing),
     rank | null, rank_interval: [best, worst] | null,   among the known models, 1 is best
     indistinguishable: [index],                         known models within the interval
     warnings: [sentence]}

`design`: the examples are a random or stratified sample, or hold one, so the interval needs
no model: Wilson's at the effective size of the design, without replacement, or that of the
model-assisted estimate. `model`: the interval is the ability-conditional predictor's; for
answers that are confidences, it is as wide as the errors on models with known scores.
The truth meant is always these very runs on the full benchmark. As the known models'
full scores are numbers without error, the rank interval holds whenever the score's does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.comparison.full_scores import EstimatorUsed
from service.engine.comparison.intervals import Interval
from service.engine.comparison.sampling_design import Design
from service.engine.comparison.score_basis import AssistedSample, Basis, KnownScores
from service.engine.comparison.score_estimates import EstimatedScore, estimate_score, mean_answers
from service.engine.comparison.similarity import Similarity
from service.engine.data.errors import Undefined

# Below this coverage a rank is not given.
LEAST_COVERAGE = 0.8
# Standard errors by which missing examples must be harder before that is said.
_SURPRISING = 2.0


@dataclass(frozen=True, slots=True)
class Score:
    """The answer for one model; the module's docstring says what each part is."""

    score: float
    interval: Interval
    standard_error: float
    basis: Literal["design", "model"]
    answered: int
    asked: int
    coverage: float
    bounds: Interval | None
    rank: int | None
    rank_interval: tuple[int, int] | None
    indistinguishable: tuple[int, ...]
    warnings: tuple[str, ...]
    estimator: EstimatorUsed | Literal["weighted"]
    effective_size: float | None


def estimate_scores(
    answers: NDArray[np.float64],
    by: Basis,
    known: KnownScores,
    confidence: float = 0.95,
    run_variance: float = 0.0,
) -> list[Score]:
    """Estimate the full scores of T new models.

    Parameters
    ----------
    answers : ndarray of float64, shape (T, n)
        On the selection, in [0, 1]; NaN where missing.
    by : Design, AbilityEstimator or Estimator
        Of the n examples.
    known : KnownScores
    confidence : float
    run_variance : float
        Mean variance of an answer between runs of one model; 0 when these very runs are meant.

    Raises
    ------
    Undefined
        A model answered none of the examples; the text gives its row.
    """
    likeness = Similarity.of(known.answers[known.source])
    return [_score(row, at, by, known, likeness, confidence, run_variance) for at, row in enumerate(answers)]


def _score(
    row: NDArray[np.float64],
    at: int,
    by: Basis,
    known: KnownScores,
    likeness: Similarity,
    confidence: float,
    run_variance: float,
) -> Score:
    there = ~np.isnan(row)
    if not there.any():
        raise Undefined(f"model {at} answered none of the {len(row)} examples of the selection")
    found = estimate_score(row, by, known, confidence, run_variance)
    score, interval = found.score, found.interval
    enough = there.mean() >= LEAST_COVERAGE
    within = (known.scores >= interval[0] - 1e-12) & (known.scores <= interval[1] + 1e-12)
    return Score(
        score=score,
        interval=interval,
        standard_error=found.error,
        basis=found.basis,
        answered=int(there.sum()),
        asked=len(row),
        coverage=float(there.mean()),
        bounds=_bounds(row, by, known),
        rank=_rank(score, known) if enough else None,
        rank_interval=(_rank(interval[1], known), _rank(interval[0], known)) if enough else None,
        indistinguishable=tuple(np.flatnonzero(within).tolist()),
        warnings=(*found.warnings, *_warnings(row, by, known, likeness)),
        estimator=found.estimator,
        effective_size=_effective_size(found, by, row),
    )


def _effective_size(found: EstimatedScore, by: Basis, row: NDArray[np.float64]) -> float | None:
    """Random examples, drawn without replacement, whose mean answer would have this standard error."""
    if found.error == 0:
        return None
    plain = max(found.score * (1 - found.score), 1 / (4 * len(row))) / found.error**2
    total = _examples(by)
    return plain if total is None else plain * total / (plain + total - 1)


def _examples(by: Basis) -> int | None:
    """Examples of the full benchmark; None where confidences estimate it."""
    if isinstance(by, AssistedSample):
        return by.design.total
    if isinstance(by, AbilityEstimator):
        return int(by.model.mean.shape[1])
    return by.total if isinstance(by, Design) else None


def _bounds(row: NDArray[np.float64], by: Basis, known: KnownScores) -> Interval | None:
    """Scores were all missing answers wrong, or all right; None when nothing is missing."""
    missing = np.isnan(row)
    if not missing.any():
        return None
    ends = (estimate_score(np.where(missing, fill, row), by, known, 0.95, 0.0).score for fill in (0.0, 1.0))
    low, high = sorted(ends)
    return low, high


def _rank(score: float, known: KnownScores) -> int:
    return 1 + int((known.scores > score + 1e-12).sum())


def _warnings(row: NDArray[np.float64], by: Basis, known: KnownScores, likeness: Similarity) -> Sequence[str]:
    found = []
    missing = np.isnan(row)
    if missing.any():
        found.append(f"{missing.sum()} of {len(row)} examples of the selection have no answer.")
        found += _missing_by_difficulty(row, by, known)
    if missing.sum() > (1 - LEAST_COVERAGE) * len(row):
        found.append("Too few examples were answered for a rank.")
    return found + likeness.warnings(row)


def _missing_by_difficulty(row: NDArray[np.float64], by: Basis, known: KnownScores) -> list[str]:
    """A sentence where answers are missing that known models find harder, or too many to tell."""
    missing = np.isnan(row)
    rates = mean_answers(known.answers)
    apart = float(rates[~missing].mean() - rates[missing].mean())
    error = float(rates.std() * np.sqrt(1 / missing.sum() + 1 / (~missing).sum()))
    harder = apart > _SURPRISING * error and error > 0
    if not harder and missing.mean() <= 1 - LEAST_COVERAGE:
        return []
    low, high = _bounds(row, by, known) or (0.0, 1.0)
    why = (
        "The missing answers are to harder examples than the others" if harder else "Many answers are missing"
    )
    return [
        f"{why}: were they missing because they are wrong, the estimate would be too high. "
        f"With all of them wrong it is {100 * low:.1f} %, with all of them right {100 * high:.1f} %."
    ]
