"""Full scores and differences of models from answers on a subset, by the ability-conditional predictor."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from service.engine.prediction.ability_model import AbilityModel
from service.engine.prediction.ability_predictor import Prediction, PredictorCache, predict_scores
from service.engine.prediction.ability_prior import Expect
from service.engine.prediction.limits import cannot_say, widened
from service.engine.prediction.model_assisted import AssistedEstimate, assisted_scores

Floats = NDArray[np.float64]
FAR_BEYOND = 0.25
"""Standard deviations of the sources beyond which an estimate rests on going on from them."""


@dataclass(frozen=True, slots=True, eq=False)
class AbilityEstimator:
    """What estimates full scores from answers on one subset.

    Attributes
    ----------
    model : AbilityModel
        Fitted to the source models.
    chosen : ndarray of int, shape (n,)
        The examples answered.
    expect : {"like", "better"}
        Prior of the ability.
    inclusion : ndarray of float64, shape (n,), optional
        Probability of each example to be in the subset, where part of it is a sample; then
        estimates are model-assisted and hold whatever the model under test is.
    cache : PredictorCache
        What earlier predictions prepared.
    """

    model: AbilityModel
    chosen: NDArray[np.integer]
    expect: Expect = "like"
    inclusion: Floats | None = None
    cache: PredictorCache = field(init=False, repr=False, default_factory=PredictorCache)

    def predict(self, answers: Floats) -> Prediction:
        """Predictions from answers, shape (T, n), NaN where missing."""
        found = predict_scores(self.model, self.chosen, answers, self.expect, self.cache)
        return widened(self.model, found, answers)

    def assisted(self, answers: Floats) -> AssistedEstimate | None:
        """Model-assisted estimates where part of the subset is a sample; complete answers, shape (T, n)."""
        if self.inclusion is None:
            return None
        return assisted_scores(self.model, self.chosen, answers, self.inclusion)

    def estimates(self, answers: Floats) -> Floats:
        """Full scores, shape (T,), from answers of shape (T, n), NaN where missing."""
        return self.predict(answers).score

    def difference_variance(self, answers: Floats) -> Floats:
        """Variance of the difference of every two estimates, shape (T, T).

        Models that answer similarly beyond what their abilities explain share their errors: by
        the correlation of their residuals on the subset, one example added that tells them
        apart, so that equal answers are not taken for equal models. What is unsure beyond
        the sources is unsure for both sides together.
        """
        found = self.predict(answers)
        shared = self._shared(answers, found.ability)
        deviation = np.sqrt(found.variance)
        within = deviation[:, None] ** 2 + deviation**2 - 2 * shared * np.outer(deviation, deviation)
        beyond = found.unsure_reach[:, None] - found.unsure_reach
        return np.asarray(np.maximum(within, 0) + beyond**2)

    def _shared(self, answers: Floats, abilities: Floats) -> Floats:
        """Correlation of residuals about the curves, 0 … 1, shape (T, T)."""
        grid, mean = self.model.grid, self.model.mean[:, self.chosen]
        p = np.stack([np.interp(abilities, grid, column) for column in mean.T], axis=1)
        residuals = np.nan_to_num((answers - p) / np.sqrt(p * (1 - p)))
        products = residuals @ residuals.T
        size = np.sqrt(np.diag(products))
        return np.asarray(np.clip((products - 1) / (np.outer(size, size) + 1), 0, 1))

    def cannot_say(self, prediction: Prediction) -> list[str | None]:
        """Why the sources say nothing of each model, or None."""
        return cannot_say(self.model, prediction)
