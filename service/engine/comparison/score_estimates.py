"""One model's full score, its interval and standard error, by each way there is to estimate it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.ability_estimator import FAR_BEYOND, AbilityEstimator
from service.engine.comparison.calibration import LEAST_MODELS
from service.engine.comparison.few_answers import with_few
from service.engine.comparison.full_scores import EstimatorUsed, FullScores
from service.engine.comparison.intervals import Interval, critical, wilson_share
from service.engine.comparison.paired import LEAST_FOR_T
from service.engine.comparison.sampling_design import Design
from service.engine.comparison.score_basis import AssistedSample, Basis, Estimator, KnownScores
from service.engine.prediction.ability_predictor import Prediction
from service.engine.prediction.model_assisted import AssistedEstimate


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


@dataclass(frozen=True, slots=True)
class EstimatedScore:
    """One model's estimate and what it rests on."""

    score: float
    interval: Interval
    error: float
    basis: Literal["design", "model"]
    warnings: tuple[str, ...] = ()
    estimator: EstimatorUsed | Literal["weighted"] = "plain"

    def with_few(
        self, row: NDArray[np.float64], sampled: NDArray[np.bool_], total: int, confidence: float
    ) -> EstimatedScore:
        """See `with_few`; the standard error stays that of the estimate."""
        return replace(self, interval=with_few(self.interval, row, sampled, total, confidence))


def estimate_score(
    row: NDArray[np.float64], by: Basis, known: KnownScores, confidence: float, run_variance: float
) -> EstimatedScore:
    """Estimate one model's score.

    Parameters
    ----------
    row : ndarray of float64, shape (n,)
        Answers on the examples of the basis, in [0, 1]; NaN where missing. One at least is there.
    by : Basis
    known : KnownScores
    confidence : float
    run_variance : float
        Mean variance of an answer between repeated runs; 0 for this very run.
    """
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
        return EstimatedScore(
            score,
            _with_noise(score, interval, noise, confidence),
            float(np.hypot(error, noise**0.5)),
            "design",
        )
    if isinstance(by, AbilityEstimator):
        return _by_ability(row, by, known, confidence, run_variance)
    return _by_weights(row, there, by, known, confidence)


def _assisted(full: FullScores, confidence: float, run_variance: float) -> EstimatedScore:
    """The first model's score, by Student's t within what its answers leave possible."""
    score, noise = float(full.scores[0]), run_variance * float((full.coefficients[0] ** 2).sum())
    error = float(full.variance[0] + noise) ** 0.5
    half = critical(confidence, full.freedom) * error
    interval = max(score - half, float(full.low[0])), min(score + half, float(full.high[0]))
    return EstimatedScore(score, interval, error, "design", estimator=full.used)


def _with_noise(score: float, interval: Interval, noise: float, confidence: float) -> Interval:
    """The interval with the variance of the run's own noise added to each side."""
    low, high = (float(np.hypot(end - score, critical(confidence) * noise**0.5)) for end in interval)
    return max(0.0, score - low), min(1.0, score + high)


def _by_ability(
    row: NDArray[np.float64], by: AbilityEstimator, known: KnownScores, confidence: float, run_variance: float
) -> EstimatedScore:
    noise = np.full(len(row), run_variance)
    found = by.predict(row[None])
    reason = by.cannot_say(found)[0]
    assisted = by.assisted(row[None]) if not np.isnan(row).any() else None
    if assisted is not None:
        return _guaranteed(assisted, found, row, by, confidence, noise)
    low, high = found.interval(confidence, noise)[0]
    notes = _about_reach(found, reason, (float(low), float(high)), known)
    return EstimatedScore(
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
) -> EstimatedScore:
    """The first model's model-assisted score, and what not trusting the model costs."""
    low, high = (float(end) for end in assisted.interval(confidence, noise)[0])
    error, score = float(assisted.error[0]), float(assisted.score[0])
    plain = EstimatedScore(score, (low, high), error, "design", estimator="assisted")
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
) -> EstimatedScore:
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
    return EstimatedScore(score, interval, error, "model", tuple(notes), "weighted")


def filled(row: NDArray[np.float64], known: KnownScores) -> NDArray[np.float64]:
    """Answers with the missing ones filled in, from the known models' and the model's level, shape (n,).

    No missing answer is taken as certain, not even of a model right on all others: with n
    answered it is at most 1 − 1 / (n + 2), and so leaves doubt.
    """
    there = ~np.isnan(row)
    if there.all():
        return row
    mean = np.nan_to_num(mean_answers(known.answers))
    ability, least = float((row - mean)[there].mean()), 1 / (there.sum() + 2)
    return np.where(there, row, np.clip(mean + ability, least, 1 - least))


def mean_answers(answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the models' answers to each example, (models, n) → (n,); 0.5 where there is none."""
    there = ~np.isnan(answers)
    total, counts = np.where(there, answers, 0.0).sum(axis=0), there.sum(axis=0)
    return np.where(counts > 0, total / np.maximum(counts, 1), 0.5)
