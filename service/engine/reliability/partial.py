"""What an experiment shows while it runs: the finished trials, without intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from service.engine.experiment.curves import NEW, SAME, Cell, Curve
from service.engine.experiment.estimates import Estimates
from service.engine.experiment.simulated import Simulated
from service.engine.measures.evaluate import AgreementRule
from service.engine.planning.plan import Plan


def so_far(plan: Plan, blobs: Sequence[bytes]) -> dict[str, Any]:
    """Agreement and MDAD by method and size, from the parts that are finished.

    Parameters
    ----------
    plan : Plan
    blobs : sequence of bytes
        Of any parts, as `experiment.run_part` made them.

    Returns
    -------
    dict
        Plain JSON: trials done and in all, methods [{label, source_models, sizes}]; those
        known by formula are not among them, for they take no trials.
    """
    if not blobs:
        return {"trials_done": 0, "trials": plan.trials, "methods": []}
    estimates = Estimates.joined([Estimates.from_bytes(blob) for blob in blobs])
    trials = len(estimates.targets)
    n_same = plan.outline.n_examples - plan.heldout
    shown = Simulated.of(
        replace(plan, trials=trials), estimates, 0, n_same, plan.heldout, with_intervals=False
    )
    lines = shown.lines(AgreementRule(plan.probability, plan.paper_compat))
    return {"trials_done": trials, "trials": plan.trials, "methods": [_line(line) for line in lines]}


def _line(line: Curve) -> dict[str, Any]:
    sizes = [
        {"size": size, SAME: _cell(cell, SAME), NEW: _cell(cell, NEW)}
        for size, cell in sorted(line.cells.items())
    ]
    return {**line.name, "sizes": sizes}


def _cell(cell: Cell, truth: str) -> dict[str, float | None] | None:
    if truth not in cell.judged:
        return None
    return {"agreement": _finite(cell.agreement(truth)), "mdad": _finite(cell.mdad(truth))}


def _finite(value: float) -> float | None:
    return round(float(value), 10) if np.isfinite(value) else None
