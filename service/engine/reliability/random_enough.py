"""From which size on a random choice does as well as any other."""

from __future__ import annotations

import numpy as np

from service.engine.experiment.curves import SAME, Curve
from service.engine.planning.plan import Plan
from service.engine.reliability.contrasts import agreement_contrast
from service.engine.reliability.evidence import Evidence


def random_enough_from(evidence: Evidence) -> int | None:
    """Smallest size from which on no method's agreement is clearly above random's; None if all are equal."""
    plan, lines = evidence.plan, evidence.lines
    if not np.isfinite(evidence.resolution):
        return None
    random = next(filter(_is_plain_random, lines), None)
    if random is None or len(lines) < 2:
        return None
    others = [line for line in lines if line is not random and line.same_as is None]
    enough = None
    for size in sorted(random.cells, reverse=True):
        if any(_clearly_above(line, random, size, plan) for line in others):
            return enough
        enough = size
    return enough


def _clearly_above(line: Curve, random: Curve, size: int, plan: Plan) -> bool:
    """Whether a line's agreement at a size is above random's, or it cannot be said that it is not."""
    if size not in line.cells:
        return False
    cells = random.cells[size], line.cells[size]
    truth = next((t for t in (plan.truth, SAME) if all(t in each.results for each in cells)), None)
    gap = None if truth is None else agreement_contrast(*cells, truth).interval
    return gap is None or gap[1] < 0


def _is_plain_random(line: Curve) -> bool:
    """Whether a line is uniform draws scored by their mean."""
    return line.spec.method == "random" and not line.spec.predicts and line.spec.scored_by == "scores"
