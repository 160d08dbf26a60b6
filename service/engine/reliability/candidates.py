"""MDAD by size of each line for a purpose, and the target it is held against."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from service.engine.experiment.curves import NEW, SAME, Curve
from service.engine.measures.clustered_errors import Clusters
from service.engine.measures.resolution import PairSpread
from service.engine.measures.size_curve import SizeCurve
from service.engine.planning.plan import Plan
from service.engine.reliability.new_questions import of_half, of_whole, with_resolution

LineKey = tuple[str, int | None]
"""Label and number of source models."""

DEFAULT_TIMES = 1.5
"""The default target, in resolutions of the full benchmark."""
BESIDE_TIMES = (1.25, 1.5, 2.0)
"""Targets shown beside a default one."""
FORMULA_SIZES = 24


def key_of(line: Curve) -> LineKey:
    """What identifies a line."""
    return line.spec.label, line.sources


def target_of(plan: Plan, spread: PairSpread) -> float:
    """The target MDAD: what was asked for, or 1.5 times the resolution of the full benchmark."""
    if plan.target_mdad is not None:
        return plan.target_mdad
    return min(DEFAULT_TIMES * spread.resolution(plan.probability), 1.0)


def curve_for(
    plan: Plan, purpose: str | None, line: Curve, beside: Curve | None, spread: PairSpread
) -> SizeCurve | None:
    """MDAD by size of a line for a purpose; None where it is not known.

    Parameters
    ----------
    purpose : str or None
        None: by the truth of the paper's protocol.
    line : Curve
        Of the plan's own trials, or of a formula.
    beside : Curve or None
        The same method on the other trials.
    spread : PairSpread
        Of the whole benchmark.
    """
    if purpose is None:
        return line.curves.get(plan.truth)
    own_is_half = plan.heldout > 0 and line.needs_trials
    whole, half = (beside, line) if own_is_half else (line, beside)
    same = None if whole is None else whole.curves.get(SAME)
    if purpose != "new_questions" or same is None:
        return same
    if not line.needs_trials:
        return with_resolution(same, spread.resolution(plan.probability))
    if half is None or NEW not in half.curves or SAME not in half.curves:
        return None
    raw, half_same = half.curves[NEW], half.curves[SAME]
    half_new = of_half(raw, spread, spread.n_examples - half_same.n_examples, plan.probability)
    sizes = np.unique(np.concatenate((same.sizes, half_new.sizes)))
    return of_whole(same, half_new, half_same, sizes, spread, plan.probability)


def theory(spread: PairSpread, probability: float, n_models: int, *, new_questions: bool) -> SizeCurve | None:
    """MDAD of random draws from the pairs' own disagreement, for models too few to fit a curve to."""
    n = spread.n_examples
    if not len(spread.difference) or n < 2:
        return None
    n_models = max(n_models, 1)
    sizes = np.unique(np.round(np.geomspace(1, n - 1, FORMULA_SIZES)).astype(np.int64))
    shares = 1 / sizes - (0 if new_questions else 1 / n)
    found = np.array([spread.mdad(probability, share) for share in shares])
    curve = SizeCurve(
        sizes,
        np.log(found),
        np.zeros((len(sizes), 1, n_models)),
        Clusters(np.arange(n_models)[None], (1,)),
        n,
    )
    return replace(curve, falls=not new_questions)
