"""Settings → plan: every default filled in, every field checked against the matrix.

Cheap enough to run when a request arrives; a refusal names the field by JSON
pointer. Planning the resolved settings again gives the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from service.engine.data.attempt_scores import ScoreRule
from service.engine.data.attempts import AttemptsError
from service.engine.data.outline import Outline
from service.engine.data.scored_matrix import POLICIES, Scoring
from service.engine.planning.expectation import expectation
from service.engine.planning.fields import (
    DEFAULT_TARGETS,
    Fields,
    Models,
    PlanError,
    check_choice,
    check_models,
    heldout_count,
    refuse_missing,
)
from service.engine.planning.methods import Spec, check_methods, resolve, same_by_construction
from service.engine.planning.sizes import AUTO, check_sizes, first_sizes
from service.engine.planning.target_settings import (
    OWN,
    TargetSetting,
    check_target_settings,
    known_days,
    known_families,
)
from service.engine.prediction.ability_prior import EXPECTATIONS, Expect

__all__ = ["Models", "Outline", "Plan", "PlanError", "SelectPlan", "Spec", "mdad_plan", "select_plan"]

MOST_TRIALS = 1000
DEFAULT_TRIALS = 50
TRUTHS = ("same_items", "new_items")
PULL_REQUEST_CHECK = "pull_request_check"
PURPOSES = {
    "reproduce_benchmark": ("same_items", 0.0),
    "new_questions": ("new_items", 0.5),
    PULL_REQUEST_CHECK: ("same_items", 0.0),
}
"""What a micro-benchmark is for: the truth that decides, and the share of examples held out to see it."""
PAPER_HOLDOUT = 0.5
MISSING = ("error", "drop_examples", "drop_models", "zero")

SHARED_FIELDS = frozenset({"source_models", "seed", "missing", "expect", "expect_reason", "score", "errors"})
SELECT_FIELDS = SHARED_FIELDS | {"method", "size", "estimator", "options", "scored_by", "guarantee"}
MDAD_FIELDS = SHARED_FIELDS | {
    "methods", "sizes", "trials", "probability", "target_mdad", "target_models", "holdout", "truth",
    "paper_compat", "group", "by_subtask", "max_size", "purpose", "drop",
    "budget", "target_settings", "model_families", "model_released",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked reliability experiment.

    Attributes
    ----------
    settings : dict
        The resolved request as JSON.
    outline : Outline
        What the plan was made for.
    specs : tuple of Spec
        Methods to run, in the order asked for.
    sizes : tuple of int
        Ascending, distinct; of the first stage where they are to be found.
    auto : bool
        Whether sizes are to be found rather than listed.
    purpose : str or None
        Key of PURPOSES; None for the paper's protocol, `truth` and `heldout`.
    models : Models
        Who is source and who is target.
    heldout : int
        Examples held out of the selection in each trial.
    target_mdad : float or None
        None: 1.5 times the resolution of the full benchmark.
    drop : float or None
        For pull-request checks: the drop that a gate is to find.
    group : tuple of str
        Similar models reported on their own; always among the targets.
    setting : str
        How the targets of these trials differ from the source models; a plan's own do not.
    same_as : dict
        Label → label of the method that it is by construction on this matrix; only the latter runs.
    """

    settings: dict[str, Any]
    outline: Outline
    specs: tuple[Spec, ...]
    sizes: tuple[int, ...]
    auto: bool
    models: Models
    heldout: int
    trials: int
    probability: float
    target_mdad: float | None
    purpose: str | None
    drop: float | None
    truth: str
    seed: int
    paper_compat: bool
    group: tuple[str, ...]
    by_subtask: bool
    max_size: int | None
    expect: Expect
    target_settings: tuple[TargetSetting, ...]
    families: Mapping[str, str]
    released: Mapping[str, int]
    same_as: dict[str, str]
    setting: TargetSetting = OWN

    @property
    def exact(self) -> bool:
        """Whether random draws are evaluated by formula: 0/1 scores, and all examples are the truth.

        What is held out for new questions is no part of it: for random draws their MDAD follows.
        """
        everyone = self.models.targets == len(self.outline.models)
        return self.outline.binary and (self.purpose is not None or (self.heldout == 0 and everyone))

    @property
    def two_stages(self) -> bool:
        """Whether a first stage of trials finds the sizes of a second."""
        return self.auto and not self.by_subtask and self.trials > 1 and bool(self.simulated)

    @property
    def distinct(self) -> tuple[Spec, ...]:
        """The specs that are not another by construction."""
        return tuple(spec for spec in self.specs if spec.label not in self.same_as)

    @property
    def simulated(self) -> tuple[Spec, ...]:
        """The specs that need trials."""
        return tuple(spec for spec in self.distinct if not (self.exact and spec.has_formula))


@dataclass(frozen=True, slots=True)
class SelectPlan:
    """A checked selection: one method, one size (None: what a budget pays for), the source models' ids
    (None: all), and what new models are expected to be.
    """

    settings: dict[str, Any]
    spec: Spec
    size: int | None
    seed: int
    sources: tuple[str, ...] | None
    expect: Expect


def mdad_plan(settings: Mapping[str, Any], outline: Outline) -> Plan:
    """Check the settings of an experiment and fill in its defaults.

    Parameters
    ----------
    settings : mapping
        As in `POST /mdad`, without the matrix; null and absent mean the same.
    outline : Outline
        Of the matrix as stored, or as filled by the `missing` policy.

    Raises
    ------
    PlanError
        A field does not fit; `field` is its JSON pointer.
    """
    fields = Fields(settings, MDAD_FIELDS)
    missing = check_choice("/missing", fields.get("missing", "error"), MISSING)
    outline = refuse_missing(outline, missing)
    _refuse_tiny(outline)
    paper_compat = fields.flag("paper_compat", default=False)
    purpose, truth, holdout = _check_purpose(fields, outline.n_examples, paper_compat=paper_compat)
    heldout = heldout_count(outline.n_examples, holdout)
    group = fields.ids("group", outline.models, least=2)
    models = check_models(fields, outline.models, group, thirds=purpose is not None)
    expect, reason = _expect(fields, outline)
    specs = check_methods(fields.get("methods"), outline, models, expect)
    auto = fields.get("sizes", AUTO) == AUTO
    most = outline.n_examples - heldout if purpose is None else outline.n_examples
    sizes = first_sizes(most) if auto else check_sizes(fields, outline.n_examples, most)
    by_subtask = fields.flag("by_subtask", default=False)
    if by_subtask and not outline.subtasks:
        raise PlanError("/by_subtask", "The matrix has no subtasks; leave by_subtask out.")
    plain: dict[str, Any] = {
        "trials": fields.integer("trials", default_trials(models.targets), 1, MOST_TRIALS),
        "probability": fields.number("probability", 0.8, 0.51, 0.999),
        "target_mdad": fields.number("target_mdad", None, 0, 1),
        "purpose": purpose,
        "drop": _drop(fields, purpose),
        "truth": truth,
        "seed": fields.integer("seed", 0, 0, 2**63 - 1),
        "paper_compat": paper_compat,
        "by_subtask": by_subtask,
        "max_size": _largest(fields, None if auto else sizes[0]),
        "expect": expect,
    }
    asked = check_target_settings(fields, outline)
    families, released = known_families(fields, outline, asked), known_days(fields, outline, asked)
    resolved = {
        "methods": [spec.as_json() for spec in specs],
        "sizes": AUTO if auto else list(sizes),
        "source_models": models.source_setting(),
        "target_models": models.target_setting(),
        "holdout": holdout,
        "missing": missing,
        "group": list(group) or None,
        "expect_reason": reason,
        "target_settings": list(asked),
        **_budget(fields),
        **_scoring(fields),
        **({"model_families": dict(families)} if families else {}),
        **({"model_released": dict(released)} if released else {}),
        **plain,
    }
    return Plan(
        settings=resolved,
        outline=outline,
        specs=specs,
        sizes=sizes,
        auto=auto,
        models=models,
        heldout=heldout,
        group=group,
        target_settings=asked,
        families=families,
        released=released,
        same_as=same_by_construction(specs, outline),
        **plain,
    )


def select_plan(settings: Mapping[str, Any], outline: Outline) -> SelectPlan:
    """Check the settings of a selection and fill in its defaults.

    Parameters
    ----------
    settings : mapping
        As in `POST /select`, without the matrix; null and absent mean the same.
    outline : Outline

    Raises
    ------
    PlanError
        A field does not fit; `field` is its JSON pointer.
    """
    fields = Fields(settings, SELECT_FIELDS)
    missing = check_choice("/missing", fields.get("missing", "error"), MISSING)
    outline = refuse_missing(outline, missing)
    if not outline.models or not outline.n_examples:
        what = "examples" if outline.models else "models"
        raise PlanError("/missing", f"{missing} leaves no {what}: each lacks a score; choose another.")
    request = {k: fields.get(k) for k in ("method", "estimator", "options", "scored_by")}
    expect, reason = _expect(fields, outline)
    guarantee = fields.flag("guarantee", default=False)
    spec = resolve(
        {k: v for k, v in request.items() if v is not None}, outline, "", expect, guarantee=guarantee
    )
    size = fields.integer("size", None, 1, outline.n_examples)
    _refuse_size(size, spec, outline)
    _refuse_conditions(size, spec, outline)
    sources = fields.ids("source_models", outline.models, least=1)
    seed = fields.integer("seed", 0, 0, 2**63 - 1) or 0
    resolved = {
        **spec.as_json(),
        "size": size,
        "seed": seed,
        "source_models": list(sources) or None,
        "missing": missing,
        "expect": expect,
        "expect_reason": reason,
        "guarantee": guarantee,
        **_scoring(fields),
    }
    del resolved["label"]
    return SelectPlan(resolved, spec, size, seed, sources or None, expect)


def _budget(fields: Fields) -> dict[str, Any]:
    """Runs to spend, with the variances of the matrix's attempts filled in before planning."""
    budget = fields.get("budget")
    return {} if budget is None else {"budget": dict(budget)}


def _scoring(fields: Fields) -> dict[str, str]:
    """How scores follow from attempts, where the request says."""
    errors = fields.get("errors")
    if errors is not None:
        check_choice("/errors", errors, POLICIES)
    scoring = Scoring(str(fields.get("score", "mean")), errors)
    try:
        ScoreRule.parse(scoring.score)
    except AttemptsError as error:
        raise PlanError("/score", str(error)) from None
    return scoring.settings()


def _expect(fields: Fields, outline: Outline) -> tuple[Expect, str]:
    """What new models are expected to be and why: as asked, else by evidence."""
    if fields.get("expect") is None:
        return expectation(outline)
    asked = check_choice("/expect", fields.get("expect"), EXPECTATIONS)
    reason = fields.get("expect_reason", "As asked.")
    return ("better" if asked == "better" else "like"), str(reason)


def default_trials(targets: int) -> int:
    """50 with up to 50 targets; fewer with more, which are as sure: the root of the ratio."""
    return round(DEFAULT_TRIALS * float(np.sqrt(min(1.0, DEFAULT_TARGETS / targets))))


def _drop(fields: Fields, purpose: str | None) -> float | None:
    """The drop to be found, which pull-request checks need and nothing else takes."""
    drop = fields.number("drop", None, 0, 1)
    if purpose != PULL_REQUEST_CHECK:
        if drop is not None:
            raise PlanError("/drop", f"drop goes with the purpose {PULL_REQUEST_CHECK}.")
        return None
    if not drop:
        raise PlanError(
            "/drop", "Say the drop that the check is to find: a fraction above 0, such as 0.05 for 5 points."
        )
    return drop


def _largest(fields: Fields, smallest: int | None) -> int | None:
    most = fields.integer("max_size", None, 1, 10**9)
    if most is not None and smallest is not None and most < smallest:
        raise PlanError(
            "/max_size", f"{most} is below every size measured ({smallest} and up); name smaller sizes."
        )
    return most


def _refuse_size(size: int | None, spec: Spec, outline: Outline) -> None:
    budget = spec.options.get("budget")
    if size is None and budget is None:
        raise PlanError("/size", f"Say how many of the {outline.n_examples} examples to select.")
    if size is not None and budget is not None:
        raise PlanError("/size", "A budget says how many examples; leave size or the budget out.")
    if budget is not None:
        _refuse_budget(budget, spec, outline)


def _refuse_budget(budget: float, spec: Spec, outline: Outline) -> None:
    """A budget that pays for no example, or not for those that must be chosen."""
    costs = spec.options.get("costs") or {}
    include, exclude = (set(spec.options.get(name) or ()) for name in ("include", "exclude"))
    if include:
        least, what = sum(costs.get(example, 1) for example in include), "those in include cost"
    else:
        least = min(
            (costs.get(example, 1) for example in outline.examples if example not in exclude), default=1
        )
        what = "one example costs"
    if budget < least:
        raise PlanError("/options/budget", f"A budget of {budget:g} is too small: {what} {least:g} or more.")


def _refuse_conditions(size: int | None, spec: Spec, outline: Outline) -> None:
    """Conditions that no choice of this size meets, as far as the shape of the matrix tells."""
    if size is None:
        return
    include, exclude = (len(spec.options.get(name) or ()) for name in ("include", "exclude"))
    quota = spec.options.get("per_subtask") or 0
    if include > size:
        raise PlanError("/size", f"include names {include} examples, more than the size of {size}.")
    if spec.options.get("guarantee"):
        _refuse_certain(size, include, outline)
    if exclude > len(outline.examples) - size and exclude:
        left = len(outline.examples) - exclude
        raise PlanError("/size", f"exclude leaves {left} examples, fewer than the size of {size}.")
    _refuse_quota(size, quota, exclude, outline)


def _refuse_certain(size: int, include: int, outline: Outline) -> None:
    """A choice of some examples has to leave two to chance."""
    if size - include < 2 and size < outline.n_examples:
        least = include + 2
        raise PlanError(
            "/size", f"A guarantee draws two examples at random or more: ask for {least} at least."
        )


def _refuse_quota(size: int, quota: int, exclude: int, outline: Outline) -> None:
    asked = sum(min(quota, n) for n in outline.subtask_sizes)
    if asked > size and not exclude and outline.n_examples == sum(outline.subtask_sizes):
        message = f"{quota} from each subtask are {asked} examples, more than the size of {size}."
        raise PlanError("/options/per_subtask", message)


def _refuse_tiny(outline: Outline) -> None:
    for count, noun in ((len(outline.models), "models"), (outline.n_examples, "examples")):
        if count < 2:
            raise PlanError("/matrix_id", f"A comparison needs at least two {noun}; the matrix has {count}.")


def _check_purpose(fields: Fields, n_examples: int, *, paper_compat: bool) -> tuple[str | None, str, float]:
    """Purpose, truth and share held out: of a purpose, or of the paper's protocol where it is asked for."""
    protocol = [name for name in ("truth", "holdout") if fields.get(name) is not None]
    if fields.get("purpose") is None and (protocol or paper_compat):
        holdout = fields.number("holdout", PAPER_HOLDOUT, 0, 0.9)
        return None, _check_truth(fields, heldout_count(n_examples, holdout)), holdout
    purpose = check_choice("/purpose", fields.get("purpose", "reproduce_benchmark"), tuple(PURPOSES))
    implied = dict(zip(("truth", "holdout"), PURPOSES[purpose], strict=True))
    for name in protocol:
        if fields.get(name) != implied[name]:
            raise PlanError(
                f"/{name}", f"purpose {purpose} has {name} {implied[name]}; leave out {name} or the purpose."
            )
    return purpose, *PURPOSES[purpose]


def _check_truth(fields: Fields, heldout: int) -> str:
    truth = check_choice("/truth", fields.get("truth", TRUTHS[heldout > 0]), TRUTHS)
    if truth == "new_items" and not heldout:
        raise PlanError("/truth", "new_items needs examples held out; set holdout above 0.")
    return truth
