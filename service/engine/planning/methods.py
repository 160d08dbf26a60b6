"""Which methods an experiment runs: names, options, estimators and labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from service.engine.data.contracts import Method
from service.engine.data.outline import Outline
from service.engine.planning.fields import Models, PlanError, check_choice
from service.engine.prediction.ability_prior import Expect
from service.engine.selection.example_options import ONE_CHOICE, positioned
from service.engine.selection.registry import LEARNS_NOTHING, METHODS, create, defaults

BLP = "blp"
"""The estimator that serves every method: best linear prediction from the source models."""

MOST_METHODS = 50


@dataclass(frozen=True, slots=True)
class Spec:
    """One line of the result: a method, its options, an estimator and what answers are.

    Attributes
    ----------
    label : str
        Names the line; distinct within a request.
    method, estimator : str
    options : dict
        Every option, defaults filled in; examples by id.
    scored_by : "scores" or "confidences"
    arguments : dict
        What the method is made with: the options, examples by position.
    """

    label: str
    method: str
    estimator: str
    options: dict[str, Any]
    scored_by: str
    arguments: dict[str, Any] = field(compare=False)

    @property
    def fit_key(self) -> str:
        """Equal for specs that one fit serves; also names their random stream."""
        return self.method + json.dumps(self.options, sort_keys=True)

    @property
    def needs_sources(self) -> bool:
        """Whether its estimates depend on the source models."""
        return self.method not in LEARNS_NOTHING or self.estimator == BLP

    @property
    def predicts(self) -> bool:
        """Whether the experiment's own predictor estimates, rather than the method."""
        return self.estimator == BLP and BLP not in METHODS[self.method].estimators

    @property
    def has_formula(self) -> bool:
        """Whether its agreement on the whole benchmark is known without simulation."""
        return not self.needs_sources and self.scored_by == "scores"

    def as_json(self) -> dict[str, Any]:
        """The spec as it stands in resolved settings."""
        return {
            "label": self.label,
            "method": self.method,
            "estimator": self.estimator,
            "options": self.options,
            "scored_by": self.scored_by,
        }

    def create(self) -> Method:
        """The method with its options."""
        return create(self.method, self.arguments)


def check_methods(value: object, outline: Outline, models: Models, expect: Expect) -> tuple[Spec, ...]:
    """The specs of a request; all suitable methods when none is named.

    Raises
    ------
    PlanError
        Naming the entry and the field of it.
    """
    entries = _default_methods(outline, models) if value is None else value
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_METHODS:
        raise PlanError("/methods", f"methods is a list of 1 to {MOST_METHODS} names or objects.")
    specs: list[Spec] = []
    for at, entry in enumerate(entries):
        _refuse_one_choice(entry, at)
        spec = resolve(entry, outline, f"/methods/{at}", expect)
        _refuse_repeat(spec, specs, at)
        if spec.needs_sources and not models.sources:
            raise PlanError(f"/methods/{at}", _no_sources(spec))
        specs.append(spec)
    return tuple(specs + _fair_random(specs))


def resolve(entry: object, outline: Outline, where: str, expect: Expect, *, guarantee: bool = False) -> Spec:
    """One entry of `methods`, a name or an object, as a spec.

    A method that asks what new models are expected to be gets that as an option, unless the entry sets it.
    """
    request = _as_request(entry, where)
    name = str(request["method"])
    given = request.get("options") or {}
    if isinstance(given, Mapping) and name in METHODS:
        given = _with_request(name, given, expect, guarantee=guarantee)
    options, arguments = _check_options(name, given, outline, where)
    cls = METHODS[name]
    allowed = (*cls.estimators, *(() if BLP in cls.estimators else (BLP,)))
    estimator = check_choice(f"{where}/estimator", request.get("estimator") or cls.estimators[0], allowed)
    natural = cls.scored_by if outline.confidences and estimator != BLP else "scores"
    scored_by = _check_scored_by(request.get("scored_by") or natural, estimator, outline, where)
    marks = _marks(name, estimator, options, scored_by, natural, expect)
    label = _check_label(request.get("label") or (f"{name} ({', '.join(marks)})" if marks else name), where)
    return Spec(label, name, estimator, options, scored_by, arguments)


def _as_request(entry: object, where: str) -> Mapping[str, Any]:
    """The entry as an object that names a method and has known fields only."""
    request = {"method": entry} if isinstance(entry, str) else entry
    if not isinstance(request, Mapping) or not isinstance(request.get("method"), str):
        raise PlanError(where or "/method", f"Name a method: one of {', '.join(METHODS)}.")
    known = {"method", "estimator", "options", "scored_by", "label"}
    if unknown := sorted(set(request) - known):
        raise PlanError(f"{where}/{unknown[0]}", f"Unknown field; known are {', '.join(sorted(known))}.")
    return request


def _check_label(label: object, where: str) -> str:
    if not isinstance(label, str) or len(label) > 100:
        raise PlanError(f"{where}/label", "A label is text of at most 100 characters.")
    return label


def _check_options(
    name: str, options: object, outline: Outline, where: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options with every default, and as the method takes them."""
    if not isinstance(options, Mapping):
        raise PlanError(f"{where}/options", "options is an object of option names and values.")
    if name not in METHODS:
        raise PlanError(f"{where}/method" if where == "" else where, _unknown_method(name))
    try:
        arguments = positioned(options, outline.examples)
        create(name, arguments)
    except (ValueError, TypeError) as error:
        raise PlanError(f"{where}/options", f"{error}.") from error
    return {**defaults(name), **options}, arguments


def _unknown_method(name: str) -> str:
    return f"There is no method {name!r}; known are {', '.join(METHODS)}."


def _check_scored_by(value: object, estimator: str, outline: Outline, where: str) -> str:
    scored_by = check_choice(f"{where}/scored_by", value, ("scores", "confidences"))
    if scored_by == "confidences" and not outline.confidences:
        raise PlanError(f"{where}/scored_by", "The matrix has no confidences; upload them or use scores.")
    if scored_by == "confidences" and estimator == BLP:
        raise PlanError(f"{where}/scored_by", "The blp estimator predicts from scores, not confidences.")
    return scored_by


def _with_request(name: str, given: Mapping[str, Any], expect: Expect, *, guarantee: bool) -> dict[str, Any]:
    """The options with what the request says of all methods, as far as this one asks for it.

    Raises
    ------
    PlanError
        A guarantee is asked of a method that has none.
    """
    known, options = defaults(name), dict(given)
    if "expect" in known and options.get("expect") is None:
        options["expect"] = expect
    if guarantee and name not in LEARNS_NOTHING:
        if "guarantee" not in known:
            having = ", ".join(n for n in METHODS if "guarantee" in defaults(n) or n in LEARNS_NOTHING)
            raise PlanError("/guarantee", f"{name} has no sample in it; take one of {having}.")
        options["guarantee"] = True
    return options


def _marks(
    name: str, estimator: str, options: dict[str, Any], scored_by: str, natural: str, expect: Expect
) -> list[str]:
    """What sets a spec apart from its method's default."""
    plain = defaults(name)
    plain |= {"expect": expect} if "expect" in plain else {}
    changed = {key: value for key, value in sorted(options.items()) if value != plain[key]}
    marks = [key if key in ONE_CHOICE else f"{key}={value}" for key, value in changed.items()]
    if estimator != METHODS[name].estimators[0]:
        marks.append(estimator)
    if scored_by != natural:
        marks.append(scored_by)
    return marks


def _default_methods(outline: Outline, models: Models) -> list[str]:
    names = [n for n, cls in METHODS.items() if not cls.traits.by_subtask or len(outline.subtasks) > 1]
    return [n for n in names if models.sources or n in LEARNS_NOTHING]


def _refuse_one_choice(entry: object, at: int) -> None:
    options = entry.get("options") if isinstance(entry, Mapping) else None
    if not isinstance(options, Mapping):
        return
    if given := sorted(name for name in ONE_CHOICE if options.get(name) is not None):
        raise PlanError(
            f"/methods/{at}/options/{given[0]}",
            f"{given[0]} is for POST /select: each trial of an experiment has other examples.",
        )


def _refuse_repeat(spec: Spec, earlier: list[Spec], at: int) -> None:
    for before, other in enumerate(earlier):
        if replace(spec, label="") == replace(other, label=""):
            raise PlanError(f"/methods/{at}", f"The same as /methods/{before}; leave one out.")
        if spec.label == other.label:
            raise PlanError(f"/methods/{at}/label", f"/methods/{before} has this label too.")


def same_by_construction(specs: tuple[Spec, ...], outline: Outline) -> dict[str, str]:
    """Label → label of the method it is on such data: without subtasks, stratified is random."""
    first: dict[tuple[bool, str], str] = {}
    same: dict[str, str] = {}
    for spec in sorted(specs, key=lambda spec: spec.method != "random"):
        if spec.method not in LEARNS_NOTHING or len(outline.subtasks) > 1:
            continue
        label = first.setdefault((spec.predicts, spec.scored_by), spec.label)
        if label != spec.label:
            same[spec.label] = label
    return same


def _fair_random(specs: list[Spec]) -> list[Spec]:
    """Random scored by confidence, beside methods scored so: else the comparison is unfair."""
    scored = [spec for spec in specs if spec.scored_by == "confidences"]
    if not scored or any(spec.method == "random" for spec in scored):
        return []
    return [Spec("random (confidences)", "random", METHODS["random"].estimators[0], {}, "confidences", {})]


def _no_sources(spec: Spec) -> str:
    return (
        f"{spec.label} learns from source models, and target_models leaves none; "
        f"name fewer target models or only {' and '.join(n for n in METHODS if n in LEARNS_NOTHING)}."
    )
