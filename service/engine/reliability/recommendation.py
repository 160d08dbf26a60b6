"""Evidence → one recommendation, and what to know before following it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from service.engine.experiment.curves import SAME, Cell, Curve
from service.engine.measures.evaluate import critical, judgement, mdad_entry
from service.engine.measures.worst_curve import WorstCurve
from service.engine.planning.methods import BLP
from service.engine.planning.plan import PULL_REQUEST_CHECK, Plan
from service.engine.planning.target_settings import OWN
from service.engine.reliability.candidates import BESIDE_TIMES, LineKey
from service.engine.reliability.contrasts import error_contrast
from service.engine.reliability.evidence import Evidence
from service.engine.reliability.gates import MethodGate, smallest_gate
from service.engine.reliability.minimal_size import (
    MinimalSize,
    is_open,
    margin,
    minimal_size,
    seed_interval,
    smallest_size,
    value_at,
)
from service.engine.reliability.random_enough import random_enough_from
from service.engine.reliability.size_search import TABLE
from service.engine.reliability.target_settings import sizes_by_setting
from service.engine.selection.registry import METHODS

LISTED_PAIRS = 20
KEPT = ("mdad", "interval", "seed_interval", "agreement", "agreement_interval")


@dataclass(slots=True)
class Recommendation:
    """The smallest micro-benchmark that does what was asked, or why there is none; as in the result.

    `status` is recommended, target_missed, use_full_benchmark, not_reached or not_enough_models.
    """

    status: str
    purpose: str | None
    target_mdad: float
    target_is_default: bool
    probability: float
    truth: str
    resolution: float | None
    method: str | None = None
    source_models: int | None = None
    size: int | None = None
    size_interval: tuple[int | None, int | None] | None = None
    contenders: list[str] | None = None
    decided_by: str | None = None
    by_setting: list[dict[str, Any]] | None = None
    for_like_alone: dict[str, Any] | None = None
    select: dict[str, Any] | None = None
    fraction: float | None = None
    mdad: float | None = None
    interval: list[float] | None = None
    seed_interval: list[float] | None = None
    agreement: float | None = None
    agreement_interval: list[float] | None = None
    estimation_error: dict[str, Any] | None = None
    relied_on_size: int | None = None
    chosen_on: str | None = None
    reported_on: str | None = None
    exact_random: dict[str, Any] | None = None
    best_tested: dict[str, Any] | None = None
    other_purpose: dict[str, Any] | None = None
    random_enough_from: int | None = None
    more_models: int | None = None

    def as_json(self) -> dict[str, Any]:
        """By field."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def recommend(evidence: Evidence, gates: Sequence[MethodGate] = ()) -> Recommendation:
    """The recommendation on some evidence; of a pull-request check, by the gates."""
    plan = evidence.plan
    if plan.purpose == PULL_REQUEST_CHECK:
        return _for_check(evidence, smallest_gate(gates, plan))
    found = minimal_size(
        evidence.candidates, evidence.target, largest(evidence), listed=not plan.auto and not evidence.few
    )
    answer = _empty(evidence, _status(evidence, found))
    if found is not None:
        _choose(answer, evidence, found)
    return answer


def _for_check(evidence: Evidence, gate: MethodGate | None) -> Recommendation:
    """The fewest examples on which the default gate finds the drop."""
    if gate is None or gate.gate.size is None or gate.gate.size > largest(evidence):
        return _empty(evidence, "use_full_benchmark" if evidence.plan.max_size is None else "target_missed")
    answer, size = _empty(evidence, "recommended"), gate.gate.size
    key = gate.label, gate.source_models
    answer.method, answer.source_models, answer.size = *key, size
    answer.fraction = size / evidence.n_examples
    answer.select = _select(evidence.line(key), size)
    if key in evidence.candidates:
        _judge(answer, evidence, key, evidence.candidates[key], size)
    return answer


def _empty(evidence: Evidence, status: str) -> Recommendation:
    """What is said whatever is recommended."""
    plan = evidence.plan
    return Recommendation(
        status=status,
        purpose=plan.purpose,
        target_mdad=evidence.target,
        target_is_default=plan.target_mdad is None,
        probability=plan.probability,
        truth=plan.truth,
        resolution=evidence.resolution if np.isfinite(evidence.resolution) else None,
        best_tested=_best_tested(evidence),
        random_enough_from=random_enough_from(evidence),
        more_models=3 * len(evidence.matrix.models),
    )


def largest(evidence: Evidence) -> int:
    """Largest size that is smaller than the benchmark and wanted."""
    most = evidence.n_examples - 1
    return most if evidence.plan.max_size is None else min(most, evidence.plan.max_size)


def _status(evidence: Evidence, found: MinimalSize[LineKey] | None) -> str:
    plan = evidence.plan
    if found is not None:
        return "recommended"
    if not evidence.candidates or not np.isfinite(evidence.resolution):
        return "not_reached"
    reached = any(curve.log_mdad().min() < 0 for curve in evidence.candidates.values())
    if not reached or (plan.purpose is None and not _any_reached(evidence)):
        return "not_reached"
    return "use_full_benchmark" if _full_is_enough(evidence) else "target_missed"


def _full_is_enough(evidence: Evidence) -> bool:
    """Whether all sizes were tried, and the whole benchmark itself reaches the target."""
    plan = evidence.plan
    if not plan.auto or plan.max_size is not None:
        return False
    return plan.truth != "new_items" or (plan.purpose is not None and evidence.target >= evidence.resolution)


def _any_reached(evidence: Evidence) -> bool:
    return any(
        np.isfinite(cell.mdad(evidence.plan.truth))
        for line in evidence.lines
        for cell in line.cells.values()
        if evidence.plan.truth in cell.results
    )


def _choose(answer: Recommendation, evidence: Evidence, found: MinimalSize[LineKey]) -> None:
    key = _simplest(evidence, found)
    line, curve = evidence.line(key), evidence.candidates[key]
    answer.method, answer.source_models = key
    answer.size, answer.size_interval = found.size, _size_interval(evidence, curve, found)
    answer.contenders = [label for label, _ in found.contenders]
    answer.select = _select(line, found.size)
    answer.fraction = found.size / evidence.n_examples
    _judge(answer, evidence, key, curve, found.size)
    if len(curve.by_setting) > 1:
        answer.for_like_alone = _for_like_alone(evidence)


def _for_like_alone(evidence: Evidence) -> dict[str, Any] | None:
    """What would be recommended were new models like the sources; roughly, as trials were spent elsewhere."""
    found = minimal_size(
        evidence.curves(evidence.plan.purpose),
        evidence.target,
        largest(evidence),
        listed=not evidence.plan.auto,
    )
    if found is None:
        return None
    label, sources = min(found.reaching, key=lambda key: complexity(evidence.line(key)))
    return {"method": label, "source_models": sources, "size": found.size}


def _judge(answer: Recommendation, evidence: Evidence, key: LineKey, curve: WorstCurve, size: int) -> None:
    """How well the examples recommended order models."""
    near = nearest(evidence.line(key), size, evidence.plan.truth)
    entry = at_size(curve, size)
    answer.decided_by = curve.worst(size)[0]
    answer.by_setting = sizes_by_setting(evidence, key, size)
    answer.mdad = entry["mdad"]
    answer.interval, answer.seed_interval = entry.get("interval"), entry.get("seed_interval")
    if near is not None:
        report = judgement(*near.results[_truth_of(near, evidence.plan)])
        answer.agreement, answer.agreement_interval = report["agreement"], report["agreement_interval"]
        extra = near.extra.get(_truth_of(near, evidence.plan), {})
        answer.estimation_error = extra.get("estimation_error")
    answer.relied_on_size = relied_on_size(evidence, curve)
    answer.chosen_on = answer.reported_on = "all trials"
    answer.exact_random = _beside(evidence, size)
    answer.other_purpose = _other_purpose(evidence, key, size)


def _size_interval(
    evidence: Evidence, curve: WorstCurve, found: MinimalSize[LineKey]
) -> tuple[int | None, int | None]:
    listed = not evidence.plan.auto and not evidence.few
    return seed_interval(curve, float(np.log(evidence.target)), found.margin, listed=listed)


def _simplest(evidence: Evidence, found: MinimalSize[LineKey]) -> LineKey:
    """The simplest of the methods that reach the target and are not clearly behind the best."""
    fit = [key for key in found.reaching if not _estimated_better(evidence, found, key)] or list(
        found.reaching
    )
    best = evidence.candidates[fit[0]]
    tied = [key for key in fit if key == fit[0] or is_open(evidence.candidates[key], best, found.size)]
    return min(tied, key=lambda key: complexity(evidence.line(key)))


def _estimated_better(evidence: Evidence, found: MinimalSize[LineKey], key: LineKey) -> bool:
    """Whether a method that predicts scores leaves larger errors than another, beyond chance."""
    line = evidence.line(key)
    if line.spec.estimator != BLP:
        return False
    own = nearest(line, found.size, evidence.plan.truth)
    others = [nearest(evidence.line(k), found.size, evidence.plan.truth) for k in found.reaching if k != key]
    gaps = [
        error_contrast(own, other, evidence.plan.truth).interval
        for other in others
        if own is not None and other is not None and evidence.plan.truth in other.extra
    ]
    return any(gap is not None and gap[0] > 0 for gap in gaps)


def complexity(line: Curve) -> tuple[int, bool, int]:
    """What sorts lines from the simplest method to the most elaborate."""
    return METHODS[line.spec.method].traits.elaborate, line.spec.predicts, line.sources or 0


def nearest(line: Curve, size: int, truth: str) -> Cell | None:
    """The cell whose size is nearest, by ratio; of a formula, whatever the truth."""
    known = [n for n, cell in line.cells.items() if truth in cell.results or not cell.trials]
    if not known:
        return None
    return line.cells[min(known, key=lambda n: (abs(np.log(n / size)), n))]


def _truth_of(cell: Cell, plan: Plan) -> str:
    return plan.truth if plan.truth in cell.results else SAME


def at_size(curve: WorstCurve, size: int) -> dict[str, Any]:
    """MDAD at a size, with intervals: of the setting that decides there."""
    worst = curve.worst(size)[1]
    errors = worst.errors_at(size)
    return mdad_entry(
        value_at(curve, size), (float(errors.trials), float(errors.models)), worst.clusters.n_models
    )


def relied_on_size(evidence: Evidence, curve: WorstCurve) -> int | None:
    """Smallest size whose MDAD's interval, over models too, ends within the target."""
    if evidence.few or evidence.target <= 0:
        return None
    fewest = min(one.clusters.n_models for one in curve.by_setting.values())
    log_target = float(np.log(evidence.target))
    return curve.first_within(log_target, critical(fewest), "models", listed=not evidence.plan.auto)


def _select(line: Curve, size: int) -> dict[str, Any]:
    """What to send to `/select`, beside the matrix, for these examples."""
    spec = line.spec.as_json()
    return {key: spec[key] for key in ("method", "estimator", "options", "scored_by")} | {"size": size}


def _beside(evidence: Evidence, size: int) -> dict[str, Any] | None:
    """Exact random draws of the same size from the full benchmark."""
    found = evidence.random.curves.get(SAME)
    cell = nearest(evidence.random, size, SAME)
    if found is None or cell is None or not found.sizes[0] <= size <= found.sizes[-1]:
        return None
    curve = WorstCurve({OWN: found})
    report = judgement(*cell.results[SAME])
    if size not in evidence.random.cells or not evidence.plan.paper_compat:
        report |= at_size(curve, size)
    return {key: report.get(key) for key in KEPT}


def _best_tested(evidence: Evidence) -> dict[str, Any] | None:
    """The smallest size among those with the lowest MDAD, and the simplest method at it."""
    most = largest(evidence)
    found = [
        (round(value_at(curve, int(size)), 6), int(size), complexity(evidence.line(key)), key)
        for key, curve in evidence.candidates.items()
        for size in curve.sizes
        if size <= most
    ]
    if not found:
        return None
    _, size, _, key = min(found)
    entry = at_size(evidence.candidates[key], size)
    near = nearest(evidence.line(key), size, evidence.plan.truth)
    report = judgement(*near.results[_truth_of(near, evidence.plan)]) if near is not None else {}
    kept = {name: report.get(name) for name in KEPT} | {name: entry.get(name) for name in KEPT[:3]}
    return {"method": key[0], "source_models": key[1], "size": size, **kept}


def _other_purpose(evidence: Evidence, key: LineKey, size: int) -> dict[str, Any] | None:
    """MDAD of the same subset for the purpose not asked for."""
    if evidence.plan.purpose is None:
        return None
    other = "reproduce_benchmark" if evidence.plan.purpose == "new_questions" else "new_questions"
    curve = evidence.curves(other).get(key)
    if curve is None or not curve.sizes[0] <= size <= curve.sizes[-1]:
        return {"purpose": other, "mdad": None, "reason": "not measured at this size"}
    entry = at_size(curve, size)
    return {"purpose": other, **{name: entry.get(name) for name in ("mdad", "interval", "seed_interval")}}


def alternatives(evidence: Evidence) -> list[dict[str, Any]]:
    """The smallest size of each line that keeps the target, as if it were the only one."""
    answer = []
    for key, curve in evidence.candidates.items():
        size = size_for(evidence, curve, evidence.target)
        answer.append(
            {
                "method": key[0],
                "source_models": key[1],
                "size": size,
                "mdad": None if size is None else float(np.exp(value_at(curve, size))),
                "relied_on_size": relied_on_size(evidence, curve),
            }
        )
    return answer


def size_for(evidence: Evidence, curve: WorstCurve, target: float) -> int | None:
    """Smallest size of one line that keeps a target with probability 0.8."""
    if target <= 0:
        return None
    listed = not evidence.plan.auto and not evidence.few
    size = smallest_size(curve, float(np.log(target)), margin(1), listed=listed)
    return size if size is not None and size <= largest(evidence) else None


def by_target(evidence: Evidence) -> list[dict[str, Any]]:
    """Target → size by line, for round targets and those beside the default one."""
    targets = dict.fromkeys(TABLE, "")
    if evidence.plan.target_mdad is None and np.isfinite(evidence.resolution):
        targets |= {times * evidence.resolution: f"{times:g} × resolution" for times in BESIDE_TIMES}
    else:
        targets |= {evidence.target: "asked for"} if np.isfinite(evidence.target) else {}
    answer = []
    for target, note in sorted(targets.items()):
        sizes = [
            {"method": key[0], "source_models": key[1], **_size_or_beyond(evidence, curve, target)}
            for key, curve in evidence.candidates.items()
        ]
        answer.append({"target_mdad": target, "note": note or None, "sizes": sizes})
    return answer


def _size_or_beyond(evidence: Evidence, curve: WorstCurve, target: float) -> dict[str, Any]:
    """Size for a target; beyond the sizes measured, as sampling alone would lower the MDAD there."""
    size = size_for(evidence, curve, target)
    if size is not None or not curve.falls or not evidence.plan.auto or target <= 0:
        return {"size": size, "measured": size is not None}
    most = largest(evidence)
    beyond = curve.first_within(float(np.log(target)), margin(1), beyond=most)
    return {"size": beyond if beyond is not None and beyond <= most else None, "measured": False}
