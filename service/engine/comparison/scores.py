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
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.ability_estimator import FAR_BEYOND, AbilityEstimator
from service.engine.comparison.calibration import LEAST_MODELS, Calibration
from service.engine.comparison.few_answers import with_few
from service.engine.comparison.full_scores import EstimatorUsed, FullScores, SampledEvidence
from service.engine.comparison.intervals import Interval, critical, wilson_share
from service.engine.comparison.paired import LEAST_FOR_T
from service.engine.comparison.sampling_design import Design
from service.engine.comparison.similarity import Similarity
from service.engine.data.errors import Undefined
from service.engine.prediction.ability_predictor import Prediction
from service.engine.prediction.model_assisted import AssistedEstimate

# Below this coverage a rank is not given.
LEAST_COVERAGE = 0.8
# Standard errors by which missing examples must be harder before that is said.
_SURPRISING = 2.0


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
    """A linear estimator of the full score from confidences: intercept + Σ coefficient × answer.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (n,)
        The selection's weights.
    intercept : float
    calibration : Calibration
    """

    coefficients: NDArray[np.float64]
    calibration: Calibration
    intercept: float = 0.0

    def difference_variance(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance of the difference of every two estimates, shape (T, T), from answers (T, n)."""
        there = ~np.isnan(answers)
        shared = there.astype(np.float64) @ there.T
        values = np.nan_to_num(answers)
        apart = np.array(
            [
                (np.abs(row - values) * mask * there).sum(axis=1)
                for row, mask in zip(values, there, strict=True)
            ]
        )
        rate = (apart + 1) / (shared + 2)
        return np.asarray(rate / self.calibration.effective_size * answers.shape[1] / np.maximum(shared, 1))


@dataclass(frozen=True, slots=True, eq=False)
class AssistedSample:
    """A sample, and what the source models say of the other examples."""

    design: Design
    evidence: SampledEvidence


Basis = Design | AssistedSample | AbilityEstimator | Estimator


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
    by: Basis,
    known: KnownScores,
    likeness: Similarity,
    confidence: float,
    run_variance: float,
) -> Score:
    there = ~np.isnan(row)
    if not there.any():
        raise Undefined(f"model {at} answered none of the {len(row)} examples of the selection")
    found = _estimated(row, by, known, confidence, run_variance)
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


@dataclass(frozen=True, slots=True)
class _Estimated:
    """One model's estimate and what it rests on."""

    score: float
    interval: Interval
    error: float
    basis: Literal["design", "model"]
    warnings: tuple[str, ...] = ()
    estimator: EstimatorUsed | Literal["weighted"] = "plain"

    def with_few(
        self, row: NDArray[np.float64], sampled: NDArray[np.bool_], total: int, confidence: float
    ) -> _Estimated:
        """See `with_few`; the standard error stays that of the estimate."""
        return replace(self, interval=with_few(self.interval, row, sampled, total, confidence))


def _effective_size(found: _Estimated, by: Basis, row: NDArray[np.float64]) -> float | None:
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


def _estimated(
    row: NDArray[np.float64], by: Basis, known: KnownScores, confidence: float, run_variance: float
) -> _Estimated:
    there = ~np.isnan(row)
    if isinstance(by, AssistedSample):
        full = by.evidence.scores(row[None])
        if full.used != "plain" and not by.design.keep(there).complete:
            sampled = by.evidence.inclusion < 1
            found = _assisted(full, confidence, run_variance)
            return found.with_few(row, sampled, by.design.total, confidence)
        by = by.design
    if isinstance(by, Design):
        score, interval, error = design_score(row[there], by.keep(there), confidence)
        noise = run_variance * float((by.keep(there).weights ** 2).sum())
        return _Estimated(
            score,
            _with_noise(score, interval, noise, confidence),
            float(np.hypot(error, noise**0.5)),
            "design",
        )
    if isinstance(by, AbilityEstimator):
        return _by_ability(row, by, known, confidence, run_variance)
    return _by_weights(row, there, by, known, confidence)


def _assisted(full: FullScores, confidence: float, run_variance: float) -> _Estimated:
    """The first model's score, by Student's t within what its answers leave possible."""
    score, noise = float(full.scores[0]), run_variance * float((full.coefficients[0] ** 2).sum())
    error = float(full.variance[0] + noise) ** 0.5
    half = critical(confidence, full.freedom) * error
    interval = max(score - half, float(full.low[0])), min(score + half, float(full.high[0]))
    return _Estimated(score, interval, error, "design", estimator=full.used)


def _with_noise(score: float, interval: Interval, noise: float, confidence: float) -> Interval:
    """The interval with the variance of the run's own noise added to each side."""
    low, high = (float(np.hypot(end - score, critical(confidence) * noise**0.5)) for end in interval)
    return max(0.0, score - low), min(1.0, score + high)


def _by_ability(
    row: NDArray[np.float64], by: AbilityEstimator, known: KnownScores, confidence: float, run_variance: float
) -> _Estimated:
    noise = np.full(len(row), run_variance)
    found = by.predict(row[None])
    reason = by.cannot_say(found)[0]
    assisted = by.assisted(row[None]) if not np.isnan(row).any() else None
    if assisted is not None:
        return _guaranteed(assisted, found, row, by, confidence, noise)
    low, high = found.interval(confidence, noise)[0]
    notes = _about_reach(found, reason, (float(low), float(high)), known)
    return _Estimated(
        float(found.score[0]), (float(low), float(high)), float(found.deviation(noise)[0]), "model", notes,
        "predicted",
    )  # fmt: skip


def _guaranteed(
    assisted: AssistedEstimate,
    found: Prediction,
    row: NDArray[np.float64],
    by: AbilityEstimator,
    confidence: float,
    noise: NDArray[np.float64],
) -> _Estimated:
    """The first model's model-assisted score, and what not trusting the model costs."""
    low, high = (float(end) for end in assisted.interval(confidence, noise)[0])
    error, score = float(assisted.error[0]), float(assisted.score[0])
    plain = _Estimated(score, (low, high), error, "design", estimator="assisted")
    sampled = np.ones(len(row), dtype=bool) if by.inclusion is None else by.inclusion < 1
    wide = plain.with_few(row, sampled, by.model.mean.shape[1], confidence)
    width = float(np.diff(found.interval(confidence, noise)[0])[0])
    cost = (
        f"The guarantee makes the interval {100 * (wide.interval[1] - wide.interval[0]):.1f} points wide; "
        f"the model's own would be {100 * width:.1f}."
    )
    return replace(wide, warnings=(cost,))


def _about_reach(
    found: Prediction, reason: str | None, interval: Interval, known: KnownScores
) -> tuple[str, ...]:
    """What to know of an estimate that lies beyond the sources, the weightiest first."""
    points = 100 * (interval[1] - interval[0]) / 2
    if points < 1e-9:
        return ()
    if reason is not None:
        return (
            f"The source models cannot say what this model scores: {reason}. The estimate may be "
            f"{points:.1f} points off or more; run a random sample, whose interval needs no sources.",
        )
    sources = known.scores[known.source]
    score = float(found.score[0])
    outside = len(sources) > 0 and not sources.min() <= score <= sources.max()
    if found.beyond[0] < FAR_BEYOND and not outside:
        return ()
    side = "better" if found.ability[0] > 0 else "worse"
    seen = side.capitalize() if outside else f"Possibly {side}"
    return (f"{seen} than every source model: the estimate rests on extrapolation, ± {points:.1f} points.",)


def _by_weights(
    row: NDArray[np.float64], there: NDArray[np.bool_], by: Estimator, known: KnownScores, confidence: float
) -> _Estimated:
    """Estimate with missing answers filled in, and an interval from the calibration."""
    whole = filled(row, known)
    doubt = float((by.coefficients**2 * whole * (1 - whole))[~there].sum())
    score = float(np.clip(by.intercept + whole @ by.coefficients, 0, 1))
    calibration = by.calibration
    error = float(np.sqrt(calibration.deviation**2 + doubt))
    half = critical(confidence, max(calibration.models - 1, 1)) * error
    sources = known.scores[known.source]
    notes = []
    if len(sources) and not sources.min() <= score <= sources.max():
        side = "above" if score > sources.max() else "below"
        notes.append(
            f"The estimate lies {side} every source model's score: an extrapolation, which may be far off."
        )
    if calibration.measured_on == "source_models":
        notes.append(
            "The errors were measured on the models that chose the examples: the interval may be too narrow."
        )
    if calibration.models < LEAST_MODELS:
        notes.append(f"Only {calibration.models} models measure the estimator's errors.")
    interval = (max(0.0, score - half), min(1.0, score + half))
    return _Estimated(score, interval, error, "model", tuple(notes), "weighted")


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


def _bounds(row: NDArray[np.float64], by: Basis, known: KnownScores) -> Interval | None:
    """Scores were all missing answers wrong, or all right; None when nothing is missing."""
    missing = np.isnan(row)
    if not missing.any():
        return None
    ends = (_estimated(np.where(missing, fill, row), by, known, 0.95, 0.0).score for fill in (0.0, 1.0))
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
    rates = _mean_answers(known.answers)
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
