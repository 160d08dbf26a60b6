"""Differences between methods at the same size, paired over the shared trials and models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.lines import Cell, Line
from service.engine.resampling import ALL, interval


def differences(lines: list[Line], sizes: tuple[int, ...], truth: str) -> list[dict[str, Any]]:
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
    """Agreement and MDAD of a cell minus the best's, with 95 % intervals."""
    gap = cell.agreement(truth) - best.agreement(truth)
    ours, theirs = cell.resampled_agreement(truth), best.resampled_agreement(truth)
    return {
        "agreement": {"difference": gap, "interval": _interval(ours, theirs, gap)},
        "mdad": mdad_contrast(cell, best, truth),
    }


def mdad_contrast(cell: Cell, best: Cell, truth: str, which: int = ALL) -> dict[str, Any]:
    """MDAD of a cell minus the best's; null where one is not reached."""
    gap = subtract(np.array(cell.mdad(truth, which)), np.array(best.mdad(truth, which))).item()
    ours, theirs = cell.resampled_mdad(truth, which), best.resampled_mdad(truth, which)
    return {
        "difference": gap if np.isfinite(gap) else None,
        "interval": _interval(ours, theirs, gap) if np.isfinite(gap) else None,
    }


def subtract(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The difference of MDADs, 0 where neither is reached."""
    neither = np.isinf(left) & np.isinf(right)
    return np.where(neither, 0, left) - np.where(neither, 0, right)


def _interval(
    ours: NDArray[np.float64] | None, theirs: NDArray[np.float64] | None, gap: float
) -> list[float | None] | None:
    if ours is None or theirs is None:
        return None
    ends = interval(subtract(ours, theirs), gap)
    return [end if np.isfinite(end) else None for end in ends]
