"""Whom a trial may draw targets and sources from, for each way new models may differ from the sources."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.data.matrix import Matrix
from service.engine.planning.plan import Plan
from service.engine.planning.target_settings import OWN, TargetSetting

Rows = NDArray[np.int64]

TOP, LOWER = 0.2, 0.6
"""Shares of the models that are targets and sources where targets are better, or worse."""
LEAST_TARGETS, LEAST_SOURCES = 4, 3


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """Models to draw targets and sources from, as rows of the matrix."""

    targets: Rows
    sources: Rows


def targets_apart(plan: Plan, setting: TargetSetting) -> int | None:
    """Targets of each trial of a setting; None where the models are too few or too little known.

    It depends on numbers, families and dates of the models only, not on their scores.
    """
    models, most = len(plan.outline.models), plan.models.targets
    if setting == OWN:
        return most
    if setting == "family":
        able = [len(rows) for rows in _families(plan)]
        return min(*able, most) if able else None
    if setting == "later":
        pools = _later(plan)
        targets, sources = len(pools.targets), len(pools.sources)
    else:
        targets, sources = round(TOP * models), int(LOWER * models)
    return min(targets, most) if targets >= LEAST_TARGETS and sources >= LEAST_SOURCES else None


def pools(plan: Plan, matrix: Matrix, rng: np.random.Generator) -> Pools:
    """Whom one trial of the plan's setting draws from."""
    if plan.setting == "family":
        able = _families(plan)
        chosen = able[rng.integers(len(able))]
        named = np.flatnonzero([model in plan.families for model in plan.outline.models])
        return Pools(chosen, np.setdiff1d(named, chosen))
    return fixed_pools(plan, matrix, plan.setting)


def fixed_pools(plan: Plan, matrix: Matrix, setting: TargetSetting) -> Pools:
    """Pools that are the same in every trial; all models where they are not."""
    if setting == "later":
        return _later(plan)
    if setting not in ("better", "worse"):
        return Pools(np.arange(len(matrix.models)), np.arange(len(matrix.models)))
    order = np.argsort(matrix.sums, kind="stable")
    order = order if setting == "better" else order[::-1]
    return Pools(order[-round(TOP * len(order)) :], order[: int(LOWER * len(order))])


def _families(plan: Plan) -> list[Rows]:
    """Families that can be left out: of targets enough, and sources enough beside them."""
    of = np.array([plan.families.get(model, "") for model in plan.outline.models])
    names, counts = np.unique(of[of != ""], return_counts=True)
    able = names[(counts >= LEAST_TARGETS) & (counts <= (of != "").sum() - LEAST_SOURCES)]
    return [np.flatnonzero(of == name) for name in able]


def _later(plan: Plan) -> Pools:
    """The newest fifth of the dated models, and those released before the first of them."""
    day = np.array([plan.released.get(model, np.nan) for model in plan.outline.models], dtype=np.float64)
    dated = np.flatnonzero(np.isfinite(day))
    if len(dated) < LEAST_TARGETS + LEAST_SOURCES:
        return Pools(dated[:0], dated[:0])
    cut = np.quantile(day[dated], 1 - TOP, method="higher")
    return Pools(np.flatnonzero(day >= cut), np.flatnonzero(day < cut))
