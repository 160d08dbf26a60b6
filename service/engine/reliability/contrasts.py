"""Differences between methods at the same size, paired over the shared trials and models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from service.engine.experiment.curves import Cell, Curve
from service.engine.measures.bootstrap import ALL, EVEN, LEAST_MODELS, interval
from service.engine.measures.evaluate import OPEN_END, TOO_FEW


def differences(lines: list[Curve], sizes: tuple[int, ...], truth: str) -> list[dict[str, Any]]:
    """At each size the method with the highest agreement, and how far the others are from it."""
    answer = []
    for size in sizes:
        present = [line for line in lines if size in line.cells and truth in line.cells[size].judged]
        present = [line for line in present if np.isfinite(line.cells[size].agreement(truth))]
        if len(present) < 2:
            continue
        best = max(present, key=lambda line: line.cells[size].agreement(truth))
        others = [
            {**line.name, **contrast(line.cells[size], best.cells[size], truth)}
            for line in present
            if line is not best
        ]
        answer.append({"size": size, "truth": truth, "best": best.name, "others": others})
    return answer


def contrast(cell: Cell, best: Cell, truth: str) -> dict[str, Any]:
    """Agreement, MDAD and estimation error of a cell minus the best's, with 95 % intervals."""
    gap = cell.agreement(truth) - best.agreement(truth)
    ours, theirs = cell.resampled_agreement(truth), best.resampled_agreement(truth)
    return {
        "agreement": _gap(gap, _interval(ours, theirs, gap)),
        "mdad": mdad_contrast(cell, best, truth),
        "estimation_error": error_contrast(cell, best, truth),
    }


def mdad_contrast(cell: Cell, best: Cell, truth: str, which: int = ALL) -> dict[str, Any]:
    """MDAD of a cell minus the best's; null where one is not reached."""
    gap = subtract(np.array(cell.mdad(truth, which)), np.array(best.mdad(truth, which))).item()
    ours, theirs = cell.resampled_mdad(truth, which), best.resampled_mdad(truth, which)
    if not np.isfinite(gap):
        return {"difference": None, "interval": None, "reason": "not_reached"}
    return _gap(gap, _interval(ours, theirs, gap))


def error_contrast(cell: Cell, other: Cell, truth: str, which: int = ALL) -> dict[str, Any]:
    """Mean absolute error of a cell's estimated scores minus another's, paired by trial and model.

    The interval is of the normal kind, with a variance for errors that share a trial or a
    model. A method with a formula has one error and no noise.

    Source: Cameron, Gelbach & Miller, "Robust inference with multiway clustering" (JBES 2011).
    """
    known = next((c.errors for c in (cell, other) if c.errors is not None), None)
    ours, theirs = (_errors(c, truth, which) for c in (cell, other))
    gap = np.asarray(ours - theirs, dtype=np.float64)
    difference = float(gap.mean())
    if known is None:
        return {"difference": difference, "interval": None, "reason": "both by formula"}
    if known.models.shape[1] < LEAST_MODELS:
        return _gap(difference, None)
    error, freedom = _twoway_error(gap, _trials(known.models, which))
    half = error * float(student.ppf(0.975, freedom))
    return _gap(difference, [difference - half, difference + half])


def _errors(cell: Cell, truth: str, which: int) -> NDArray[np.floating]:
    if cell.errors is not None:
        return _trials(cell.errors.values, which)
    return np.array(cell.extra[truth]["estimation_error"]["mean"])


def _trials(values: NDArray[Any], which: int) -> NDArray[Any]:
    return values if which == ALL else values[which - EVEN :: 2]


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


def subtract(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The difference of MDADs, 0 where neither is reached."""
    neither = np.isinf(left) & np.isinf(right)
    return np.where(neither, 0, left) - np.where(neither, 0, right)


def _gap(difference: float, interval: Sequence[float | None] | None) -> dict[str, Any]:
    answer: dict[str, Any] = {"difference": difference, "interval": interval}
    if interval is None:
        return answer | {"reason": TOO_FEW}
    return answer | ({"reason": OPEN_END} if None in interval else {})


def _interval(
    ours: NDArray[np.float64] | None, theirs: NDArray[np.float64] | None, gap: float
) -> list[float | None] | None:
    if ours is None or theirs is None:
        return None
    ends = interval(subtract(ours, theirs), gap)
    return [end if np.isfinite(end) else None for end in ends]
