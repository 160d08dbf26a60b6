"""Differences between methods at the same size, paired over the shared trials and models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from service.engine.experiment.curves import Cell, Curve
from service.engine.measures.clustered_errors import Clusters
from service.engine.measures.evaluate import LEAST_MODELS, NOT_REACHED, PAPER, TOO_FEW, critical
from service.engine.measures.local_probit import Floats


@dataclass(frozen=True, slots=True)
class Gap:
    """A difference with its 95 % interval; a reason where either is null."""

    difference: float | None
    interval: tuple[float, float] | None
    reason: str | None = None

    @classmethod
    def of(cls, difference: float, half: float | None) -> Gap:
        """Symmetric; too few models give no half-width."""
        if half is None:
            return cls(difference, None, TOO_FEW)
        return cls(difference, (difference - half, difference + half))

    def as_json(self) -> dict[str, Any]:
        """As in a result."""
        answer: dict[str, Any] = {"difference": self.difference, "interval": self.interval}
        return answer | ({} if self.reason is None else {"reason": self.reason})


def differences(lines: list[Curve], sizes: Iterable[int], truth: str) -> list[dict[str, Any]]:
    """At each size the method with the highest agreement, and how far the others are from it."""
    answer = []
    for size in sizes:
        present = [line for line in lines if size in line.cells and truth in line.cells[size].results]
        present = [line for line in present if np.isfinite(line.cells[size].agreement(truth))]
        if len(present) < 2:
            continue
        best = max(present, key=lambda line: line.cells[size].agreement(truth))
        others = [
            {**line.name, **_contrast(line.cells[size], best.cells[size], truth)}
            for line in present
            if line is not best
        ]
        answer.append({"size": size, "truth": truth, "best": best.name, "others": others})
    return answer


def _contrast(cell: Cell, best: Cell, truth: str) -> dict[str, Any]:
    return {
        "agreement": agreement_contrast(cell, best, truth).as_json(),
        "mdad": mdad_contrast(cell, best, truth).as_json(),
        "estimation_error": error_contrast(cell, best, truth).as_json(),
    }


def agreement_contrast(cell: Cell, other: Cell, truth: str) -> Gap:
    """Mean agreement of a cell minus another's."""
    (ours, at), (theirs, there) = cell.results[truth], other.results[truth]
    influences = ours.agreement_influence[at], theirs.agreement_influence[there]
    half = _half((ours.clusters, theirs.clusters), influences, min(ours.n_models, theirs.n_models))
    return Gap.of(float(ours.agreement[at] - theirs.agreement[there]), half)


def mdad_contrast(cell: Cell, other: Cell, truth: str) -> Gap:
    """MDAD of a cell minus another's; null where one is not reached."""
    (ours, at), (theirs, there) = cell.results[truth], other.results[truth]
    mdads = cell.mdad(truth), other.mdad(truth)
    if not np.isfinite(mdads).all():
        return Gap(None, None, NOT_REACHED)
    if ours.rule.paper:
        return Gap(mdads[0] - mdads[1], None, PAPER)
    influences = mdads[0] * ours.mdad_influence[at], mdads[1] * theirs.mdad_influence[there]
    half = _half((ours.clusters, theirs.clusters), influences, min(ours.n_models, theirs.n_models))
    return Gap.of(mdads[0] - mdads[1], half)


def _half(
    clusters: tuple[Clusters, Clusters], influences: tuple[Floats, Floats], n_models: int
) -> float | None:
    """Half of a 95 % interval: over models and trials, or over trials where only those can be paired."""
    if n_models < LEAST_MODELS:
        return None
    if influences[0].shape == influences[1].shape:
        error = clusters[0].errors(influences[0] - influences[1]).models
    else:
        error = np.hypot(*(c.errors(i).trials for c, i in zip(clusters, influences, strict=True)))
    return critical(n_models) * float(error)


def error_contrast(cell: Cell, other: Cell, truth: str) -> Gap:
    """Mean absolute error of a cell's estimated scores minus another's, paired by trial and model.

    A variance for errors that share a trial or a model. A method with a formula has one error and no
    noise.

    Source: Cameron, Gelbach & Miller, "Robust inference with multiway clustering" (JBES 2011).
    """
    known = next((c.errors for c in (cell, other) if c.errors is not None), None)
    ours, theirs = (_errors(c, truth) for c in (cell, other))
    if ours.shape and theirs.shape and ours.shape != theirs.shape:
        return Gap(float(ours.mean() - theirs.mean()), None, "not of the same trials")
    gap = np.asarray(ours - theirs, dtype=np.float64)
    if known is None:
        return Gap(float(gap.mean()), None, "both by formula")
    if known.models.shape[1] < LEAST_MODELS:
        return Gap.of(float(gap.mean()), None)
    error, freedom = _twoway_error(gap, known.models)
    return Gap.of(float(gap.mean()), error * float(student.ppf(0.975, freedom)))


def _errors(cell: Cell, truth: str) -> NDArray[np.floating]:
    if cell.errors is not None:
        return cell.errors.values
    return np.array(cell.extra[truth]["estimation_error"]["mean"])


def _twoway_error(values: NDArray[np.float64], models: NDArray[np.int64]) -> tuple[float, int]:
    """Standard error of the mean over trials × targets, and its degrees of freedom."""
    away = values - values.mean()
    trials, size = len(values), values.size
    by_model = np.bincount(models.ravel(), weights=away.ravel())[np.bincount(models.ravel()) > 0]
    sums = (by_model, away.sum(axis=1), away.ravel())
    of_models, of_trials, of_cells = (
        float((s**2).sum()) / size**2 * len(s) / max(len(s) - 1, 1) for s in sums
    )
    variance = max(of_models + of_trials - of_cells, of_models, of_trials)
    return float(np.sqrt(variance)), max(min(len(by_model), trials if trials > 1 else len(by_model)) - 1, 1)
