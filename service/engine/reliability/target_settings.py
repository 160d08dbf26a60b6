"""How each method does for new models of several kinds, and which kind decides the size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from service.engine.data.matrix import Matrix
from service.engine.experiment.curves import SAME, Cell, Curve
from service.engine.experiment.splits import MOST_COMPARED, Splitter
from service.engine.planning.target_settings import NEW_MODELS, OWN, TargetSetting
from service.engine.prediction.near_copies import copy_groups
from service.engine.reliability.candidates import LineKey, key_of
from service.engine.reliability.evidence import Evidence
from service.engine.reliability.minimal_size import margin
from service.engine.reliability.stages import in_setting

_TOO_FEW: Mapping[TargetSetting, str] = {
    "better": "the best fifth of the models, or those below them, are too few",
    "worse": "the worst fifth of the models, or those above them, are too few",
    "family": "no family has four models and enough others beside it; say families by PATCH or at upload",
    "later": "too few models have a release date, or all have the same; say dates by PATCH or at upload",
}
_NAMED = "source or target models are named in the request, which says itself who is new"
_MUCH_LARGER, _LITTLE_COVERED = 1.5, 0.8


def judge_settings(evidence: Evidence) -> list[dict[str, Any]]:
    """One entry a setting of the plan.

    Returns
    -------
    list of dict
        {setting, target_models, source_models, trials, reason, methods: [{label, sizes: [{size,
        mdad, agreement, error, coverage}]}]}; coverage is that of the 90 % interval which
        `/scores` serves, null where that needs no model.
    """
    return [_judge(evidence, setting) for setting in evidence.plan.target_settings]


def _judge(evidence: Evidence, setting: TargetSetting) -> dict[str, Any]:
    plan = evidence.plan
    if setting == OWN:
        own = {key_of(line): line for line in evidence.lines if line.same_as is None}
        return _entry(evidence, setting, own)
    found = evidence.apart.get(setting)
    if found is not None:
        return _entry(evidence, setting, found.lines)
    named = plan.models.source_ids or plan.models.target_ids or plan.group
    counts = dict.fromkeys(("target_models", "source_models", "trials"), 0)
    reason = _NAMED if named else _TOO_FEW[setting]
    return {"setting": setting, **counts, "reason": reason, "methods": []}


def _entry(evidence: Evidence, setting: TargetSetting, lines: Mapping[LineKey, Curve]) -> dict[str, Any]:
    plan = in_setting(evidence.plan, setting)
    split = Splitter(plan, evidence.matrix).draw(0)
    return {
        "setting": setting,
        "target_models": len(split.targets),
        "source_models": len(split.sources),
        "trials": max((cell.trials for line in lines.values() for cell in line.cells.values()), default=0),
        "reason": None,
        "methods": [_method(line, plan.truth) for line in lines.values() if line.cells],
    }


def _method(line: Curve, truth: str) -> dict[str, Any]:
    sizes = [_size(size, cell, truth) for size, cell in sorted(line.cells.items())]
    return {"label": line.spec.label, "sizes": [size for size in sizes if size is not None]}


def _size(size: int, cell: Cell, truth: str) -> dict[str, Any] | None:
    truth = truth if truth in cell.results else SAME
    if truth not in cell.results:
        return None
    mdad, agreement = cell.mdad(truth), cell.agreement(truth)
    error = cell.extra.get(truth, {}).get("estimation_error")
    return {
        "size": size,
        "mdad": mdad if np.isfinite(mdad) else None,
        "agreement": agreement if np.isfinite(agreement) else None,
        "error": None if error is None else error["mean"],
        "coverage": cell.coverage,
    }


def sizes_by_setting(evidence: Evidence, key: LineKey, size: int) -> list[dict[str, Any]]:
    """Size that each setting alone would ask for, and its MDAD at the size recommended."""
    curve = evidence.candidates[key]
    target = float(np.log(evidence.target)) if evidence.target > 0 else -np.inf
    at = np.array([size])
    return [
        {
            "setting": setting,
            "size": one.first_within(target, margin(1), listed=not evidence.plan.auto and not evidence.few),
            "mdad": float(min(np.exp(one.at(at)[0]), 1.0)),
        }
        for setting, one in curve.by_setting.items()
    ]


def setting_warnings(matrix: Matrix, judged: list[dict[str, Any]]) -> list[str]:
    """What the settings show that a reader of the recommendation must know, as sentences."""
    found, models = [], len(matrix.models)
    if models <= MOST_COMPARED:
        distinct = int(copy_groups(matrix.scores.astype(np.float64)).max()) + 1
        if distinct < models:
            found.append(f"Near copies among the {models} models: they count as {distinct}.")
    like = _largest(judged, OWN)
    for setting, words in NEW_MODELS.items():
        for (label, size), entry in _largest(judged, setting).items():
            beside = like.get((label, size))
            if beside is None or entry["coverage"] is None or not beside["error"]:
                continue
            if entry["error"] > _MUCH_LARGER * beside["error"] or entry["coverage"] < _LITTLE_COVERED:
                found.append(
                    f"For models {words} scores by {label} at {size} examples are "
                    f"{100 * entry['error']:.1f} points off ({100 * beside['error']:.1f} for models like "
                    f"them), and {100 * entry['coverage']:.0f} % of the 90 % intervals hold."
                )
    return found


def _largest(judged: list[dict[str, Any]], setting: str) -> dict[tuple[str, int], dict[str, Any]]:
    """Method and its largest size → its entry, in one setting."""
    return {
        (method["label"], size["size"]): size
        for entry in judged
        if entry["setting"] == setting
        for method in entry["methods"]
        for size in method["sizes"][-1:]
    }
