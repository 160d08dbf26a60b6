"""The experiment run here, with means counted as the paper's code counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau
from threadpoolctl import threadpool_limits

from benchmarks.paper.published import Key
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.experiment.estimates import Estimates
from service.engine.experiment.trials import entries
from service.engine.planning.plan import Plan, mdad_plan
from service.engine.reliability import mdad_job

METHODS = (
    "random",
    {"method": "stratified", "options": {"allocation": "equal"}},
    "tinybenchmarks",
    "confidence_strata",
    "anchor_points",
    "diversity",
)
COUNTED = {"random", "stratified", "diversity"}
"""Estimates that are counts over the size, and so tie exactly where counts do."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Ours, in the terms of `Published`; standard errors over our own trials."""

    mdad: float | None
    low: float | None
    high: float | None
    agreement: float
    agreement_se: float
    tau: float
    tau_se: float
    error: float
    error_se: float


def measure(
    matrix: Matrix, methods: Sequence[object], sources: Sequence[int], sizes: Sequence[int], trials: int
) -> dict[Key, Measured]:
    """Run the methods and read off every number; methods that look at no source get the most."""
    settings = {
        "methods": list(methods),
        "sizes": list(sizes),
        "trials": trials,
        "source_models": list(sources),
        "target_models": 50,
        "paper_compat": True,
    }
    plan = mdad_plan(settings, Outline.of(matrix))
    with threadpool_limits(1):
        pieces = mdad_job.run_all(matrix, plan, _go_on)
        result = mdad_job.assemble(matrix, plan, pieces, _go_on)
    estimates = Estimates.joined([Estimates.from_bytes(blob) for _, blob in pieces])
    return dict(_measurements(plan, result, estimates))


def _go_on(_done: float) -> None:
    """Nobody asks this computation to stop."""


def _measurements(plan: Plan, result: dict[str, Any], estimates: Estimates) -> Iterator[tuple[Key, Measured]]:
    heldout = plan.heldout
    truths = {
        "same_items": estimates.same[0] / (plan.outline.n_examples - heldout),
        "new_items": estimates.new[0] / heldout,
    }
    for at, entry in enumerate(entries(plan)):
        method, sources = entry.spec.method, entry.sources or max(plan.models.sources)
        line = next(
            x
            for x in result["methods"]
            if (x["label"], x["source_models"]) == (entry.spec.label, entry.sources)
        )
        for place, size in enumerate(plan.sizes):
            for truth, real in truths.items():
                judged = next(x for x in line["sizes"] if x["size"] == size)[truth]
                scores = estimates.scores[0, at, place]
                yield (method, sources, size, truth), _summary(judged, scores, real, method in COUNTED)


def _summary(
    judged: dict[str, Any], scores: NDArray[np.float64], real: NDArray[np.float64], counted: bool
) -> Measured:
    agreement = [_agreement(e, t, 1e-12 if counted else 0.0) for e, t in zip(scores, real, strict=True)]
    tau = [kendalltau(e, t).statistic for e, t in zip(scores, real, strict=True)]
    error = np.abs(scores - real).mean(axis=1)
    moments = [float(x) for values in (agreement, tau, error) for x in _mean_and_error(np.array(values))]
    return Measured(judged["mdad_paper"], *(judged["interval"] or (None, None)), *moments)


def _mean_and_error(values: NDArray[np.float64]) -> tuple[np.floating, np.floating]:
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def _agreement(estimated: NDArray[np.float64], real: NDArray[np.float64], tie: float) -> float:
    """Share of pairs ordered rightly as the paper's code counts it.

    Pairs whose true scores are equal count as right when the estimate favours the model
    drawn first, that is by even chance unless it ties. Estimates tie when they are equal
    to the last bit, which weighted sums of equal value often are not.
    """
    first, second = np.triu_indices(len(real), 1)
    truth, guess = real[first] - real[second], estimated[first] - estimated[second]
    tied = np.abs(guess) <= tie
    right = np.where(np.abs(truth) < 1e-12, 0.5, np.sign(guess) == np.sign(truth))
    return float(np.where(tied, 0, right).mean())
