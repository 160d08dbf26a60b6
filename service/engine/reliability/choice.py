"""Which method and size to recommend: the smallest size, and the simplest method as good as the best.

They are chosen on the even trials, to be reported on the odd ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from service.engine.experiment.curves import Cell, Curve
from service.engine.measures.bootstrap import ALL, EVEN, ODD
from service.engine.measures.evaluate import judgement
from service.engine.planning.methods import BLP
from service.engine.planning.plan import Plan
from service.engine.reliability.contrasts import error_contrast, mdad_contrast

SIMPLEST = (
    "random",
    "stratified",
    "confidence_strata",
    "anchor_points",
    "diversity",
    "tinybenchmarks",
    "optimal_design",
)


@dataclass(frozen=True, slots=True, eq=False)
class MethodChoice:
    """A line at a size, with the trials that chose it and those that report it."""

    line: Curve
    size: int
    cell: Cell
    reported: int


def choose(plan: Plan, lines: list[Curve]) -> MethodChoice | None:
    """The smallest size that reaches the target, and the simplest method as good as the best there.

    A method that predicts scores is not it where another's estimates are closer.
    """
    for size in sorted({size for line in lines for size in line.cells}):
        if plan.max_size is not None and size > plan.max_size:
            break
        reaching = [
            line
            for line in lines
            if size in line.cells and line.cells[size].mdad(plan.truth, _chooses(plan, line)) <= _target(plan)
        ]
        if reaching:
            return _simplest(plan, size, reaching)
    return None


def _simplest(plan: Plan, size: int, reaching: list[Curve]) -> MethodChoice:
    fit = [line for line in reaching if not _estimated_better(plan, size, line, reaching)]
    best = min(fit, key=lambda line: line.cells[size].mdad(plan.truth, _chooses(plan, line)))
    for line in sorted(fit, key=complexity):
        gap = mdad_contrast(line.cells[size], best.cells[size], plan.truth, _chooses(plan, line))["interval"]
        if line is best or (gap is not None and (gap[0] is None or gap[0] <= 0)):
            break
    reported = ODD if _chooses(plan, line) == EVEN else ALL
    return MethodChoice(line, size, line.cells[size], reported)


def _estimated_better(plan: Plan, size: int, line: Curve, others: list[Curve]) -> bool:
    """Whether a method that predicts scores leaves larger errors than another, beyond chance."""
    if line.spec.estimator != BLP:
        return False
    gaps = (
        error_contrast(line.cells[size], other.cells[size], plan.truth, _chooses(plan, line))["interval"]
        for other in others
        if other is not line
    )
    return any(gap is not None and gap[0] > 0 for gap in gaps)


def complexity(line: Curve) -> tuple[int, bool, int]:
    """What sorts lines from the simplest method to the most elaborate."""
    method = line.spec.method
    rank = SIMPLEST.index(method) if method in SIMPLEST else len(SIMPLEST)
    return rank, line.spec.predicts, line.sources or 0


def _chooses(plan: Plan, line: Curve) -> int:
    return EVEN if line.spec in plan.simulated and plan.trials > 1 else ALL


def _target(plan: Plan) -> float:
    return plan.target_mdad + 1e-9


def smallest_size(line: Curve, plan: Plan) -> int | None:
    """Smallest size whose MDAD is within the target, on all trials."""
    return next((n for n, c in sorted(line.cells.items()) if c.mdad(plan.truth) <= _target(plan)), None)


def relied_on_size(line: Curve, plan: Plan) -> int | None:
    """Smallest size whose MDAD's interval ends within the target, on all trials."""
    for size, cell in sorted(line.cells.items()):
        judged, curve = cell.judged[plan.truth]
        interval = judgement(judged, curve).get("interval")
        if interval and interval[1] is not None and interval[1] <= _target(plan):
            return size
    return None
