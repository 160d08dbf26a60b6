"""Where the source models cannot say what a new model scores, and how wide an honest interval then is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from service.engine.prediction.ability_model import AbilityModel
from service.engine.prediction.ability_predictor import Prediction
from service.engine.prediction.shrinkage import Floats

FEWEST_MODELS = 5
FARTHEST = 8.0
"""Standard deviations of the sources' abilities beyond which nothing is known (measured)."""
_LEAST_RELIABILITY = 0.3
"""Share of the variance of the sources' scores that is not the luck of their answers."""


def sources_limit(model: AbilityModel) -> str | None:
    """Why these sources say little of any model, or None."""
    if model.models < FEWEST_MODELS:
        return f"there are only {model.models} source models that are not near copies of each other"
    if model.reliability < _LEAST_RELIABILITY:
        return "the source models' scores differ no more than by chance"
    return None


def cannot_say(model: AbilityModel, prediction: Prediction) -> list[str | None]:
    """Why the sources say nothing of each of T models, or None."""
    limit = sources_limit(model)
    side = np.where(prediction.ability > 0, "above", "below")
    return [
        limit
        or (
            f"its ability lies {beyond:.0f} standard deviations {where} every source model's" if far else None
        )
        for beyond, where, far in zip(prediction.beyond, side, prediction.beyond > FARTHEST, strict=True)
    ]


def widened(model: AbilityModel, prediction: Prediction, answers: Floats) -> Prediction:
    """Predictions whose variance is at least a random sample's of this size, where the sources cannot say.

    Parameters
    ----------
    answers : ndarray of float64, shape (T, n)
        NaN where missing.
    """
    unsaid = np.array([reason is not None for reason in cannot_say(model, prediction)])
    if not unsaid.any():
        return prediction
    count = (~np.isnan(answers)).sum(axis=1)
    rate = (np.nansum(answers, axis=1) + 1) / (count + 2)
    sample = rate * (1 - rate) / count * (1 - count / model.mean.shape[1])
    return replace(
        prediction, variance=np.where(unsaid, np.maximum(prediction.variance, sample), prediction.variance)
    )
