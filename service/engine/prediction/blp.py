"""The predictor of full scores that serves any subset, whatever method chose it.

`covariance` says how scores on the examples go together, `predictor` turns answers on
a subset into a full score, `leftout` says how far off that is for a model not seen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from service.engine.data.contracts import Source
from service.engine.prediction.covariance import Covariance, covariance
from service.engine.prediction.holdout_error import LEAST_MODELS, Folds, Spread, spread, unchecked
from service.engine.prediction.linear import LinearPredictor, linear_predictor
from service.engine.prediction.shrinkage import Floats

_LEAST_FREEDOM = 3
_PRIOR_FREEDOM = 4
"""What the priors of the spread are worth, in source models."""


class BLP:
    """Best linear prediction from any subset of the examples.

    Parameters
    ----------
    source : Source
        What it is learnt from.
    covariance : Covariance
    """

    def __init__(self, source: Source, covariance: Covariance) -> None:
        self.source = source
        self.covariance = covariance

    def predictor(self, indices: NDArray[np.integer]) -> LinearPredictor:
        """The predictor from answers on these distinct examples, shape (n,)."""
        return linear_predictor(self.covariance, indices)

    def estimate(self, indices: NDArray[np.integer], answers: Floats) -> Floats:
        """Full scores, shape (T,).

        Parameters
        ----------
        indices : ndarray of int, shape (n,)
            Distinct examples.
        answers : ndarray of float64, shape (T, n)
            Scores on them, in the order of `indices`.
        """
        return self.predictor(indices).estimate(answers)

    def interval(self, indices: NDArray[np.integer], answers: Floats, level: float = 0.9) -> Floats:
        """Lower and upper end for each full score, shape (T, 2); covers it with probability `level`."""
        return interval(*self._errors(indices, answers), self._freedom, level)

    def better(self, indices: NDArray[np.integer], first: Floats, second: Floats) -> Floats:
        """Probability that each first model's full score is above the second's, shape (T,).

        Parameters
        ----------
        first, second : ndarray of float64, shape (T, n)
            Answers on the examples `indices`.
        """
        return better(self._errors(indices, first), self._errors(indices, second), self._freedom)

    @property
    def _freedom(self) -> int:
        return freedom(self.source)

    def _errors(self, indices: NDArray[np.integer], answers: Floats) -> tuple[Floats, Floats]:
        """Estimates and the standard deviations of their errors, each (T,)."""
        by = self.predictor(indices)
        estimates = by.estimate(answers)
        return estimates, by.deviation * self._spread(indices)(estimates)

    def _spread(self, indices: NDArray[np.integer]) -> Spread:
        """Never below the posterior's own: the subset may have been chosen with the source models' help."""
        if self.source.n_models < LEAST_MODELS or len(indices) == self.source.n_examples:
            return unchecked(self.source.n_models)
        folds = Folds(self.source, self.covariance.intensity, lambda _: lambda _: indices)
        found = spread(folds.left_out(len(indices)))
        return replace(found, level=max(found.level, 0.0))


def fit(source: Source, observed: NDArray[np.bool_] | None = None) -> BLP:
    """Learn from the source models.

    Parameters
    ----------
    source : Source
        At least one model; scores 0/1 or graded.
    observed : ndarray of bool, shape (S, N), optional
        False where a score is missing: there the model's and the example's means stand in.
    """
    return BLP(source, covariance(source, observed))


def freedom(source: Source) -> int:
    """Degrees of freedom of errors that S source models tell."""
    if source.n_models < LEAST_MODELS:
        return _LEAST_FREEDOM
    return source.n_models - 1 + _PRIOR_FREEDOM


def interval(estimates: Floats, deviations: Floats, degrees: int, level: float) -> Floats:
    """Intervals within [0, 1], shape (T, 2)."""
    half = deviations * student.ppf((1 + level) / 2, degrees)
    return np.stack((np.maximum(estimates - half, 0), np.minimum(estimates + half, 1)), axis=1)


def better(first: tuple[Floats, Floats], second: tuple[Floats, Floats], degrees: int) -> Floats:
    """Probability that the first score is above the second, from estimates and deviations; shape (T,)."""
    apart, error = first[0] - second[0], np.hypot(first[1], second[1])
    sure = np.select([apart > 0, apart < 0], [np.inf, -np.inf], 0.0)
    steps = np.divide(apart, error, out=sure, where=error > 0)
    return np.asarray(student.cdf(steps, degrees))
