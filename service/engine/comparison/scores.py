"""What a new model would score on the full benchmark, from its answers on a selection.

JSON of each answer (`dataclasses.asdict`):

    {score, interval: [low, high], standard_error, basis: design | model,
     answered, asked, coverage, bounds: [low, high] | null (nothing missing),
     rank | null, rank_interval: [best, worst] | null,   among the known models, 1 is best
     indistinguishable: [index],                         known models within the interval
     warnings: [sentence]}

`design`: the examples are a random or stratified sample, so the interval needs no
model: Wilson's at the effective size of the design, without replacement. `model`: the
interval is as wide as the estimator's errors on models with known scores.
The truth meant is always these very runs on the full benchmark. As the known models'
full scores are numbers without error, the rank interval holds whenever the score's does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.calibration import LEAST_MODELS, Calibration
from service.engine.comparison.intervals import Interval, critical, wilson_share
from service.engine.comparison.paired import LEAST_FOR_T
from service.engine.comparison.sampling_design import Design
from service.engine.comparison.similarity import Similarity
from service.engine.data.errors import Undefined

# Below this coverage a rank is not given.
LEAST_COVERAGE = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class KnownScores:
    """The matrix's models.

    Attributes
    ----------
    scores : ndarray of float64, shape (M,)
        Full scores, finite.
    answers : ndarray of float64, shape (M, n)
        On the selection; NaN where missing.
    source : ndarray of bool, shape (M,)
        Models that chose the examples.
    """

    scores: NDArray[np.float64]
    answers: NDArray[np.float64]
    source: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Estimator:
    """A linear estimator of the full score: intercept + Σ coefficient × answer.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (n,)
        The selection's weights, or a predictor's.
    intercept : float
    calibration : Calibration
    """

    coefficients: NDArray[np.float64]
    calibration: Calibration
    intercept: float = 0.0


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


def estimate_scores(
    answers: NDArray[np.float64],
    by: Design | Estimator,
    known: KnownScores,
    confidence: float = 0.95,
) -> list[Score]:
    """Estimate the full scores of T new models.

    Parameters
    ----------
    answers : ndarray of float64, shape (T, n)
        On the selection, in [0, 1]; NaN where missing.
    by : Design or Estimator
        Of the n examples.
    known : KnownScores
    confidence : float

    Raises
    ------
    Undefined
        A model answered none of the examples; the text gives its row.
    """
    likeness = Similarity.of(known.answers[known.source])
    return [_score(row, at, by, known, likeness, confidence) for at, row in enumerate(answers)]


def design_score(
    answers: NDArray[np.float64], design: Design, confidence: float
) -> tuple[float, Interval, float]:
    """Score, interval and standard error from a complete sample, shape (n,).

    Wilson's interval at the design's effective size; Student's t for graded scores
    once enough of them differ.
    """
    mean = float(np.clip(design.mean(answers), 0, 1))
    freedom = len(answers) - len(design.sizes)
    graded = not np.isin(answers, (0, 1)).all() and np.unique(answers).size >= LEAST_FOR_T
    if graded and freedom >= LEAST_FOR_T and not design.complete:
        error = float(design.variance(answers, "full_benchmark")) ** 0.5
        half = critical(confidence, freedom) * error
        return mean, (max(0.0, mean - half), min(1.0, mean + half)), error
    bound = np.asarray(mean * (1 - mean))
    pseudo = critical(confidence) ** 2 / 2
    size = float(design.effective_size(answers, bound, "full_benchmark", pseudo))
    low, high = (float(end) for end in wilson_share(mean, size, confidence))
    return mean, (low, high), (high - low) / 2 / critical(confidence)


def _score(
    row: NDArray[np.float64],
    at: int,
    by: Design | Estimator,
    known: KnownScores,
    likeness: Similarity,
    confidence: float,
) -> Score:
    there = ~np.isnan(row)
    if not there.any():
        raise Undefined(f"model {at} answered none of the {len(row)} examples of the selection")
    if isinstance(by, Design):
        score, interval, error = design_score(row[there], by.keep(there), confidence)
    else:
        score, interval, error = _modelled(row, there, by, known, confidence)
    enough = there.mean() >= LEAST_COVERAGE
    within = (known.scores >= interval[0] - 1e-12) & (known.scores <= interval[1] + 1e-12)
    return Score(
        score=score,
        interval=interval,
        standard_error=error,
        basis="design" if isinstance(by, Design) else "model",
        answered=int(there.sum()),
        asked=len(row),
        coverage=float(there.mean()),
        bounds=_bounds(row, by),
        rank=_rank(score, known) if enough else None,
        rank_interval=(_rank(interval[1], known), _rank(interval[0], known)) if enough else None,
        indistinguishable=tuple(np.flatnonzero(within).tolist()),
        warnings=tuple(_warnings(row, score, by, known, likeness)),
    )


def _modelled(
    row: NDArray[np.float64], there: NDArray[np.bool_], by: Estimator, known: KnownScores, confidence: float
) -> tuple[float, Interval, float]:
    """Estimate with missing answers filled in, and an interval from the calibration."""
    whole = filled(row, known)
    doubt = float((by.coefficients**2 * whole * (1 - whole))[~there].sum())
    score = float(np.clip(by.intercept + whole @ by.coefficients, 0, 1))
    calibration = by.calibration
    error = float(np.sqrt(calibration.deviation**2 + doubt))
    half = critical(confidence, max(calibration.models - 1, 1)) * error
    return score, (max(0.0, score - half), min(1.0, score + half)), error


def filled(row: NDArray[np.float64], known: KnownScores) -> NDArray[np.float64]:
    """Answers with the missing ones filled in, from the known models' and the model's level, shape (n,).

    No missing answer is taken as certain, not even of a model right on all others: with n
    answered it is at most 1 − 1 / (n + 2), and so leaves doubt.
    """
    there = ~np.isnan(row)
    if there.all():
        return row
    mean = np.nan_to_num(_mean_answers(known.answers))
    ability, least = float((row - mean)[there].mean()), 1 / (there.sum() + 2)
    return np.where(there, row, np.clip(mean + ability, least, 1 - least))


def _mean_answers(answers: NDArray[np.float64]) -> NDArray[np.float64]:
    there = ~np.isnan(answers)
    total, counts = np.where(there, answers, 0.0).sum(axis=0), there.sum(axis=0)
    return np.where(counts > 0, total / np.maximum(counts, 1), 0.5)


def _bounds(row: NDArray[np.float64], by: Design | Estimator) -> Interval | None:
    """Scores were all missing answers wrong, or all right; None when nothing is missing."""
    missing = np.isnan(row)
    if not missing.any():
        return None
    weights, intercept = (by.weights, 0.0) if isinstance(by, Design) else (by.coefficients, by.intercept)
    low, high = sorted(intercept + float(np.where(missing, fill, row) @ weights) for fill in (0.0, 1.0))
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def _rank(score: float, known: KnownScores) -> int:
    return 1 + int((known.scores > score + 1e-12).sum())


def _warnings(
    row: NDArray[np.float64], score: float, by: Design | Estimator, known: KnownScores, likeness: Similarity
) -> Sequence[str]:
    found = []
    missing = int(np.isnan(row).sum())
    if missing:
        found.append(f"{missing} of {len(row)} examples of the selection have no answer.")
    if missing > (1 - LEAST_COVERAGE) * len(row):
        found.append("Too few examples were answered for a rank.")
    found += likeness.warnings(row)
    if isinstance(by, Design):
        return found
    sources = known.scores[known.source]
    if len(sources) and not sources.min() <= score <= sources.max():
        side = "above" if score > sources.max() else "below"
        found.append(f"The estimate lies {side} every source model's score: an extrapolation.")
    if by.calibration.measured_on == "source_models":
        found.append(
            "The errors were measured on the models that chose the examples: the interval may be too narrow."
        )
    if by.calibration.models < LEAST_MODELS:
        found.append(f"Only {by.calibration.models} models measure the estimator's errors.")
    return found
