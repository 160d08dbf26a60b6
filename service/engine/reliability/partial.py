"""What an experiment shows while it runs: the finished trials, without intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from service.engine.experiment.curves import NEW, SAME, Cell, Curve
from service.engine.experiment.simulated import Simulated
from service.engine.measures.evaluate import AgreementRule
from service.engine.planning.plan import Plan
from service.engine.planning.target_settings import OWN
from service.engine.reliability.candidates import LineKey, key_of
from service.engine.reliability.stages import grouped, ran


def so_far(plan: Plan, pieces: Sequence[tuple[Mapping[str, Any], bytes]]) -> dict[str, Any]:
    """Agreement and MDAD by method and size, from the parts that are finished.

    Parameters
    ----------
    plan : Plan
    pieces : sequence of (mapping, bytes)
        Specs of any parts, and what `mdad_job.run_part` made of them.

    Returns
    -------
    dict
        Plain JSON: trials done and in all, methods [{label, source_models, sizes}]; those
        known by formula are not among them, for they take no trials. Trials beside the plan's own
        are neither shown nor counted.
    """
    groups = {key: found for key, found in grouped(pieces).items() if key[1:] == (plan.heldout, OWN)}
    done = sum(len(estimates.targets) for estimates in groups.values())
    lines: dict[LineKey, Curve] = {}
    rule = AgreementRule(plan.probability, plan.paper_compat)
    for group, estimates in sorted(groups.items(), key=lambda item: item[0].stage):
        of_trials = replace(ran(plan, group, estimates), trials=len(estimates.targets))
        n_same = plan.outline.n_examples - plan.heldout
        shown = Simulated.of(of_trials, estimates, 0, n_same, plan.heldout)
        for line in shown.lines(rule):
            key = key_of(line)
            lines[key] = (
                line if key not in lines else replace(lines[key], cells=lines[key].cells | line.cells)
            )
    return {"trials_done": done, "trials": plan.trials, "methods": [_line(line) for line in lines.values()]}


def _line(line: Curve) -> dict[str, Any]:
    sizes = [
        {"size": size, SAME: _cell(cell, SAME), NEW: _cell(cell, NEW)}
        for size, cell in sorted(line.cells.items())
    ]
    return {**line.name, "sizes": sizes}


def _cell(cell: Cell, truth: str) -> dict[str, float | None] | None:
    if truth not in cell.results:
        return None
    return {"agreement": _finite(cell.agreement(truth)), "mdad": _finite(cell.mdad(truth))}


def _finite(value: float) -> float | None:
    return round(float(value), 10) if np.isfinite(value) else None
