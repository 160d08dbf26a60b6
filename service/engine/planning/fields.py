"""Checks of single fields of a request; each refusal carries the field's JSON pointer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from service.engine.data.errors import EngineError
from service.engine.data.outline import Outline

DEFAULT_TARGETS = 50
MOST_TARGETS = 150
"""Of a third of the models: more make the MDAD surer at no cost, until fewer sources do harm."""


class PlanError(EngineError):
    """A field of the request does not fit.

    Attributes
    ----------
    field : str
        JSON pointer of the field, like "/sizes/3".
    message : str
        What is wrong and how to fix it.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Models:
    """Who chooses and who judges.

    Attributes
    ----------
    targets : int
        Target models in each trial.
    target_ids : tuple of str
        Fixed targets; empty when drawn in each trial.
    sources : tuple of int
        Numbers of source models: several for a learning curve, none without sources.
    source_ids : tuple of str
        Fixed sources; empty when drawn in each trial.
    """

    targets: int
    target_ids: tuple[str, ...]
    sources: tuple[int, ...]
    source_ids: tuple[str, ...]
    everyone: bool

    def source_setting(self) -> int | list[int] | list[str]:
        """`source_models` as resolved."""
        if self.source_ids:
            return list(self.source_ids)
        return list(self.sources) if len(self.sources) > 1 else max(self.sources, default=0)

    def target_setting(self) -> int | list[str] | str:
        """`target_models` as resolved."""
        return "all" if self.everyone else list(self.target_ids) or self.targets


class Fields:
    """Typed access to the fields of a request; null counts as absent."""

    def __init__(self, settings: Mapping[str, Any], known: frozenset[str]) -> None:
        if unknown := sorted(set(settings) - known):
            raise PlanError(f"/{unknown[0]}", f"Unknown field; known are {', '.join(sorted(known))}.")
        self._values = {key: value for key, value in settings.items() if value is not None}

    def get(self, name: str, default: object = None) -> Any:  # noqa: ANN401 - JSON can be anything
        """The field as it came."""
        return self._values.get(name, default)

    def flag(self, name: str, *, default: bool) -> bool:
        """A true or false field."""
        value = self.get(name, default)
        if not isinstance(value, bool):
            raise PlanError(f"/{name}", f"{name} is true or false.")
        return value

    @overload
    def integer(self, name: str, default: int, low: int, high: int) -> int: ...
    @overload
    def integer(self, name: str, default: None, low: int, high: int) -> int | None: ...
    def integer(self, name: str, default: int | None, low: int, high: int) -> int | None:
        """A whole number in [low, high]."""
        value = self.get(name, default)
        if value is None:
            return None
        if not is_int(value) or not low <= value <= high:
            raise PlanError(f"/{name}", f"{name} is a whole number from {low} to {high}.")
        return int(value)

    @overload
    def number(self, name: str, default: float, low: float, high: float) -> float: ...
    @overload
    def number(self, name: str, default: None, low: float, high: float) -> float | None: ...
    def number(self, name: str, default: float | None, low: float, high: float) -> float | None:
        """A number in [low, high]."""
        value = self.get(name, default)
        if value is None:
            return None
        real = isinstance(value, int | float) and not isinstance(value, bool)
        if not real or not low <= value <= high:
            raise PlanError(f"/{name}", f"{name} is a number from {low:g} to {high:g}.")
        return float(value)

    def ids(self, name: str, known: tuple[str, ...], *, least: int) -> tuple[str, ...]:
        """A list of distinct model ids, sorted; empty when absent."""
        value = self.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) < least:
            raise PlanError(f"/{name}", f"{name} is a list of at least {least} model ids.")
        return check_ids(f"/{name}", value, known)


def is_int(value: object) -> bool:
    """Whether a JSON value is a whole number (true and false are not)."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_choice(field: str, value: object, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in choices:
        raise PlanError(field, f"Use one of {', '.join(choices)}, not {value!r}.")
    return str(value)


def check_ids(field: str, value: list[Any], known: tuple[str, ...]) -> tuple[str, ...]:
    """Known, distinct model ids, sorted."""
    names = set(known)
    seen: set[str] = set()
    for at, name in enumerate(value):
        if not isinstance(name, str) or name not in names:
            raise PlanError(f"{field}/{at}", f"The matrix has no model {name!r}.")
        if name in seen:
            raise PlanError(f"{field}/{at}", f"Model {name!r} is named twice.")
        seen.add(name)
    return tuple(sorted(seen))


def check_models(fields: Fields, known: tuple[str, ...], group: tuple[str, ...], *, thirds: bool) -> Models:
    """Source and target models: counts or ids, disjoint, enough for both.

    Parameters
    ----------
    thirds : bool
        Whether a third of many models are targets by default, rather than 50.

    Raises
    ------
    PlanError
        At /source_models, /target_models or /group.
    """
    fixed, counts = _check_sources(fields.get("source_models"), known)
    target_ids, wanted = _check_targets(fields.get("target_models"), known)
    if both := sorted(set(fixed) & set(target_ids)):
        raise PlanError(
            "/target_models", f"Model {both[0]!r} is also a source model; a model cannot be both."
        )
    sources = max(counts, default=0)
    rest = len(known) - sources
    targets = wanted or min(_default_targets(len(known), thirds=thirds), rest)
    if targets < 2 or targets > rest:
        raise PlanError(
            "/target_models" if wanted else "/source_models",
            f"{sources} source and {max(targets, 2)} target models do not fit into {len(known)}; "
            "ask for fewer of either.",
        )
    _check_group(group, target_ids, targets, fixed)
    if not counts and targets < rest:
        counts = (rest - targets,)
    return Models(targets, target_ids, counts, fixed, fields.get("target_models") == "all")


def _default_targets(n_models: int, *, thirds: bool) -> int:
    default = max(2, min(DEFAULT_TARGETS, n_models // 2))
    return max(default, min(MOST_TARGETS, n_models // 3)) if thirds else default


def _check_sources(value: object, known: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Fixed source ids, and numbers of sources to try; no number means all models left."""
    if value is None or (value == 0 and is_int(value)):
        return (), ()
    if is_int(value):
        value = [value]
    if not isinstance(value, list) or not value:
        raise PlanError(
            "/source_models", "source_models is a number, a list of numbers or a list of model ids."
        )
    if all(isinstance(v, str) for v in value):
        return check_ids("/source_models", value, known), (len(value),)
    return (), _check_counts(value, known)


def _check_counts(value: list[Any], known: tuple[str, ...]) -> tuple[int, ...]:
    for at, count in enumerate(value):
        if not is_int(count) or not 1 <= count < len(known):
            raise PlanError(
                f"/source_models/{at}", f"A number of source models is from 1 to {len(known) - 1}."
            )
    return tuple(sorted({int(v) for v in value}))


def _check_targets(value: object, known: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """Fixed target ids, or how many to draw (0: the default)."""
    if value is None:
        return (), 0
    if value == "all":
        return known, len(known)
    if is_int(value) and isinstance(value, int) and 2 <= value <= len(known):
        return (), value
    if isinstance(value, list) and len(value) >= 2:
        return check_ids("/target_models", value, known), len(value)
    raise PlanError(
        "/target_models",
        f'target_models is a number from 2 to {len(known)}, a list of at least 2 ids, or "all".',
    )


def _check_group(
    group: tuple[str, ...], target_ids: tuple[str, ...], targets: int, source_ids: tuple[str, ...]
) -> None:
    if taken := sorted(set(group) & set(source_ids)):
        raise PlanError(
            "/group", f"Model {taken[0]!r} is a source model; the group is judged, so leave it out."
        )
    if target_ids and (left := sorted(set(group) - set(target_ids))):
        raise PlanError("/group", f"Model {left[0]!r} is not among target_models.")
    if len(group) > targets:
        raise PlanError("/group", f"The group has {len(group)} models but target_models is {targets}.")


def heldout_count(n_examples: int, holdout: float) -> int:
    """Examples held out: the share, rounded half down; at least one of each kind."""
    if not holdout:
        return 0
    return int(np.clip(math.ceil(n_examples * holdout - 0.5 - 1e-9), 1, n_examples - 1))


def refuse_missing(outline: Outline, policy: str) -> Outline:
    """The outline after the policy; missing cells without one are refused with their counts."""
    if not outline.missing_cells:
        return outline
    if policy == "error":
        models, examples = len(outline.incomplete_models), outline.incomplete_examples
        cells = "1 cell has" if outline.missing_cells == 1 else f"{outline.missing_cells} cells have"
        raise PlanError(
            "/missing",
            f"{cells} no score. Choose: drop_examples (drops {examples} of "
            f"{outline.n_examples} examples), drop_models (drops {models} of {len(outline.models)} models) "
            "or zero (counts the cells as wrong).",
        )
    return outline.after(policy)
