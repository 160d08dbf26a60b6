"""What new models are expected to be, like the sources or better, by when the known ones came."""

from __future__ import annotations

import numpy as np

from service.engine.data.outline import Outline
from service.engine.prediction.ability_prior import Expect

FEW_MODELS = 10
_NEWEST = 3
"""The newest third of the models is set against those before it."""
_SHARE = 0.1
_LEAST = 2


def expectation(outline: Outline) -> tuple[Expect, str]:
    """What to expect of new models, and why.

    Release dates tell the order where most models have one, else the revisions in which the
    models arrived.
    """
    models = len(outline.models)
    if models < FEW_MODELS:
        return "better", f"{models} source models are too few to say what a model like them is."
    for times, what in ((outline.released, "release dates"), (outline.arrived, "the order of arrival")):
        if len(times) == models and outline.accuracies:
            found = _newcomers(np.array(times, dtype=float), np.array(outline.accuracies, dtype=float))
            if found is None:
                continue
            above, newest = found
            seen = f"By {what} {above} of the {newest} newest models are better than every model before them"
            return ("better", f"{seen}.") if _many(above, newest) else ("like", f"{seen}, not more.")
    return "like", "Neither release dates nor the order of arrival tell which models are newer."


def _many(above: int, newest: int) -> bool:
    return above >= _LEAST and above >= _SHARE * newest


def _newcomers(
    times: np.ndarray[tuple[int], np.dtype[np.float64]],
    accuracies: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[int, int] | None:
    """How many of the newest third are better than all before them, and how many those are."""
    known = np.isfinite(times) & np.isfinite(accuracies)
    times, accuracies = times[known], accuracies[known]
    if len(times) < max(FEW_MODELS, 0.8 * len(known)) or len(np.unique(times)) < 2:
        return None
    cut = np.quantile(times, 1 - 1 / _NEWEST, method="higher")
    newest = times >= cut if (times < cut).any() else times > times.min()
    return int((accuracies[newest] > accuracies[~newest].max()).sum()), int(newest.sum())
