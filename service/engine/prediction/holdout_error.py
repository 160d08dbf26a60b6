"""How far predictions are off, told by source models left out of everything that made them.

Leaving a model out of the covariance alone is not enough: a subset chosen with its help
suits it, and makes errors look two to four times too small. So each fold estimates its
own covariance and chooses its own subset of the same size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import Source
from service.engine.prediction.covariance import Covariance, covariance
from service.engine.prediction.linear import linear_predictor
from service.engine.prediction.shrinkage import Floats

Chooser = Callable[[int], NDArray[np.integer]]
"""Size → the examples chosen, of one fold."""

LEAST_MODELS = 4
# Prior of the spread's coefficients, and how far they may be from it.
_SPREAD, _SPREAD_DEVIATION = np.array([0.1, 0.7, 0.2]), np.array([0.5, 0.5, 0.3])
_TAILS = float(np.log(1.07))
"""Errors have heavier tails than a normal law's, by so much in their variance (measured)."""
# Scoring steps towards the most likely spread: damped, one error alone not carrying far.
_STEPS, _DAMPING, _SURPRISE, _LARGEST = 40, 0.7, 4.0, 6.0
_BELIEVED, _MISLED = 3, 1.4
_SLOPE_DEVIATION = 0.1
_FEW = 40


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Some source models, and what the others make of them."""

    rows: NDArray[np.int64]
    covariance: Covariance
    choose: Chooser


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """Predictions for source models by the others, each of shape (S,).

    Attributes
    ----------
    observed : ndarray
        The part of the full score that the answers are: share × mean answer.
    predicted, true : ndarray
        Mean score on the examples not chosen.
    deviation : ndarray
        Posterior standard deviation of the full score.
    share : float
        n / N.
    """

    observed: Floats
    predicted: Floats
    true: Floats
    deviation: Floats
    share: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Standard deviation of the errors as a multiple of the posterior's: √(eᵃ · qᵇ · (1 + u²)ᶜ).

    q is m(1 − m) against its value at the centre, u the estimate's distance from the centre
    in standard deviations of the models: a score near 0 or 1 is surer, an unusual model's less sure.
    """

    level: float = 0.1
    binomial: float = 0.7
    unusual: float = 0.2
    centre: float = 0.5
    scale: float = 1.0

    def __call__(self, estimates: Floats) -> Floats:
        """The multiple, shape (T,)."""
        logarithm = self.parts(estimates) @ np.array([self.level, self.binomial, self.unusual])
        return np.asarray(np.exp(np.clip(logarithm, -_LARGEST, _LARGEST) / 2))

    def parts(self, estimates: Floats) -> Floats:
        """What the coefficients stand at, shape (T, 3)."""
        middle = max(self.centre * (1 - self.centre), 1e-6)
        binomial = np.maximum(estimates * (1 - estimates) / middle, 0.05)
        unusual = ((estimates - self.centre) / self.scale) ** 2
        return np.stack((np.ones_like(estimates), np.log(binomial), np.log1p(unusual)), axis=1)


class Folds:
    """The source models in parts, by turns in order of their mean score.

    Parameters
    ----------
    source : Source
        At least LEAST_MODELS models.
    intensity : float
        As found with all of them.
    choosing : callable
        Source → Chooser.
    """

    def __init__(self, source: Source, intensity: float, choosing: Callable[[Source], Chooser]) -> None:
        self._source, self._intensity, self._choosing = source, intensity, choosing
        self._found: dict[int, LeftOut] = {}

    @cached_property
    def _folds(self) -> list[Fold]:
        models = self._source.n_models
        count = max(3, min(10, models, 200 // models))
        order = np.argsort(self._source.scores.mean(axis=1), kind="stable")
        return [self._fold(np.sort(order[first::count])) for first in range(count)]

    def _fold(self, rows: NDArray[np.int64]) -> Fold:
        others = Source(np.delete(self._source.scores, rows, axis=0), self._source.strata)
        return Fold(rows, covariance(others, share=self._intensity), self._choosing(others))

    def left_out(self, size: int) -> LeftOut:
        """Every source model as seen by the others, from `size` < N examples."""
        if size not in self._found:
            self._found[size] = self._predict(size)
        return self._found[size]

    def _predict(self, size: int) -> LeftOut:
        models, examples = self._source.scores.shape
        observed, predicted, true, deviation = np.zeros((4, models))
        for fold in self._folds:
            chosen = fold.choose(size)
            by = linear_predictor(fold.covariance, chosen)
            scores = self._source.scores[fold.rows].astype(np.float64)
            answers = scores[:, chosen]
            observed[fold.rows] = by.share * answers.mean(axis=1)
            predicted[fold.rows] = by.rest(answers)
            true[fold.rows] = (scores.sum(axis=1) - answers.sum(axis=1)) / (examples - size)
            deviation[fold.rows] = by.deviation
        return LeftOut(observed, predicted, true, deviation, size / examples)


def correction(left: LeftOut) -> tuple[float, float]:
    """Offset and slope that bring predictions of the rest closer to the truth.

    A regression of the error on the prediction, shrunk towards no correction: strongly
    below some forty models, where it has nothing to say about new models (measured).
    """
    centre, scale = float(left.predicted.mean()), float(left.predicted.std())
    if scale < 1e-9:
        return 0.0, 1.0
    errors = left.true - left.predicted
    models = len(errors)
    design = np.stack((np.ones(models), (left.predicted - centre) / scale), axis=1)
    noise = max(float((errors**2).mean()), 1e-12) * (1 + (_FEW / models) ** 2)
    prior = (_SLOPE_DEVIATION * max(float(left.true.std()), 1e-9)) ** 2
    offset, slope = np.linalg.solve(design.T @ design / noise + np.eye(2) / prior, design.T @ errors / noise)
    slope = float(slope) / scale
    return float(offset) - slope * centre, 1 + slope


def unchecked(models: int) -> Spread:
    """The spread where there are too few models for some to judge the others.

    One or two are told what to expect of any benchmark. Three are believed, and mislead: their
    intervals came out two times too narrow on the sample (measured).
    """
    return Spread() if models < _BELIEVED else Spread(level=_MISLED)


def spread(left: LeftOut, offset: float = 0.0, slope: float = 1.0) -> Spread:
    """The spread of the errors after the correction.

    A regression of the logarithm of the errors' variance against the posterior's, by the
    likelihood of a normal law, with a prior that says the posterior is about right.
    """
    rest = np.clip(offset + slope * left.predicted, 0, 1)
    estimates = left.observed + (1 - left.share) * rest
    squares = ((1 - left.share) * (left.true - rest) / left.deviation) ** 2
    blank = Spread(centre=float(estimates.mean()), scale=max(float(estimates.std()), 1e-9))
    parts, precision = blank.parts(estimates), np.diag(1 / _SPREAD_DEVIATION**2)
    information = parts.T @ parts / 2 + precision
    found = _SPREAD
    for _ in range(_STEPS):
        surprise = np.clip(squares / np.exp(np.clip(parts @ found, -_LARGEST, _LARGEST)) - 1, -1, _SURPRISE)
        slopes = parts.T @ surprise / 2 - precision @ (found - _SPREAD)
        found = found + _DAMPING * np.linalg.solve(information, slopes)
    level, binomial, unusual = found.tolist()
    return replace(blank, level=level + _TAILS, binomial=max(binomial, 0.0), unusual=max(unusual, 0.0))
