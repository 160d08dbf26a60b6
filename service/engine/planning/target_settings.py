"""In what way the models to come may differ from the source models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from service.engine.data.outline import Outline
from service.engine.planning.fields import Fields, PlanError

TargetSetting = Literal["like", "better", "worse", "family", "later"]
TARGET_SETTINGS: tuple[TargetSetting, ...] = get_args(TargetSetting)
OWN: TargetSetting = "like"
"""What an experiment's own trials are: targets and sources drawn from one pool."""
NEW_MODELS: Mapping[str, str] = {
    "better": "better than the sources",
    "worse": "worse than the sources",
    "family": "of another family",
    "later": "released later",
}
"""The other settings, as a reader knows them."""
_ENOUGH_FOR_BETTER = 40


def check_target_settings(fields: Fields, outline: Outline) -> tuple[TargetSetting, ...]:
    """Those asked for; by default like, and better where there are models enough.

    Raises
    ------
    PlanError
        One is unknown, or named twice.
    """
    asked = fields.get("target_settings")
    if asked is None:
        return ("like", "better") if len(outline.models) >= _ENOUGH_FOR_BETTER else ("like",)
    if not isinstance(asked, list) or len(set(map(str, asked))) < len(asked):
        raise PlanError("/target_settings", f"target_settings lists some of {', '.join(TARGET_SETTINGS)}.")
    for at, name in enumerate(asked):
        if name not in TARGET_SETTINGS:
            raise PlanError(f"/target_settings/{at}", f"Known are {', '.join(TARGET_SETTINGS)}.")
    return tuple(name for name in TARGET_SETTINGS if name in asked)


def known_families(
    fields: Fields, outline: Outline, settings: tuple[TargetSetting, ...]
) -> Mapping[str, str]:
    """Family of each model that has one; empty where no setting asks for families."""
    return _known(fields.get("model_families"), outline, outline.families, wanted="family" in settings)


def known_days(fields: Fields, outline: Outline, settings: tuple[TargetSetting, ...]) -> Mapping[str, int]:
    """Day of release of each model that has one; empty where no setting asks for it."""
    return _known(fields.get("model_released"), outline, outline.released, wanted="later" in settings)


def _known(
    resolved: Mapping[str, Any] | None, outline: Outline, values: tuple[Any, ...], *, wanted: bool
) -> Mapping[str, Any]:
    if resolved is not None or not wanted or not values:
        return resolved or {}
    pairs = zip(outline.models, values, strict=True)
    return {model: value for model, value in pairs if value is not None}
