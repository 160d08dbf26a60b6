"""Which trials a plan needs: with what held out, in which of two stages, on what sizes.

A plan's own trials hold out nothing, or what the paper's protocol asks for, or half of the examples
for new questions. Every other setting that new models are expected in has as many: targets that differ
from the sources in its way. Beside them the first stage has half as many trials of the other kind:
nothing held out beside half, half beside nothing. Trials of the same number draw the same models in all.

The second stage is a function of the first stage's estimates, so it does not depend on who runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.engine.data.matrix import Matrix
from service.engine.experiment.curves import Curve
from service.engine.experiment.estimates import Estimates
from service.engine.experiment.simulated import Simulated
from service.engine.experiment.splits import heldout_counts
from service.engine.experiment.target_pools import fixed_pools, targets_apart
from service.engine.experiment.trials import units
from service.engine.measures.evaluate import AgreementRule
from service.engine.measures.resolution import PairSpread
from service.engine.measures.size_curve import SizeCurve
from service.engine.measures.worst_curve import WorstCurve
from service.engine.planning.fields import heldout_count
from service.engine.planning.plan import PURPOSES, Plan
from service.engine.planning.target_settings import OWN, TargetSetting
from service.engine.reliability.candidates import LineKey, curve_for, key_of, target_of
from service.engine.reliability.size_search import second_stage

LARGEST_SHARE = 0.9
"""Largest size of subsets of a half, where sizes are to be found."""
JUDGED = 3
"""Trials of other settings beside the paper's protocol, which they do not decide."""


class Group(NamedTuple):
    """Trials that are evaluated together."""

    stage: int
    heldout: int
    setting: TargetSetting


Groups = Mapping[Group, Estimates]


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials first … last − 1 of one stage and setting, with so many examples held out."""

    stage: int
    heldout: int
    first: int
    last: int
    setting: TargetSetting = OWN

    @property
    def group(self) -> Group:
        """Trials of one group are evaluated together."""
        return Group(self.stage, self.heldout, self.setting)

    def as_spec(self) -> dict[str, Any]:
        """As a part's JSON."""
        spec = {"stage": self.stage, "heldout": self.heldout, "trials": [self.first, self.last]}
        return spec if self.setting == OWN else spec | {"setting": self.setting}

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Trials:
        """From a part's JSON."""
        first, last = spec["trials"]
        return cls(spec["stage"], spec["heldout"], first, last, spec.get("setting", OWN))


def first_trials(trials: int) -> int:
    """How many of the trials the first stage takes: a fifth."""
    return max(1, trials // 5)


def other_heldout(plan: Plan) -> int | None:
    """Examples held out in the trials beside the plan's own; None where there are none."""
    if plan.purpose is None or plan.outline.n_examples < 4:
        return None
    return 0 if plan.heldout else heldout_count(plan.outline.n_examples, PURPOSES["new_questions"][1])


def all_trials(plan: Plan) -> list[Trials]:
    """Every group of trials, the first stage's before the second's."""
    if not plan.simulated:
        return [Trials(1, plan.heldout, 0, 0)]
    few = first_trials(plan.trials)
    own = few if plan.two_stages else plan.trials
    found = [Trials(1, plan.heldout, 0, own)]
    other = other_heldout(plan)
    if other is not None:
        found.append(Trials(1, other, 0, max(1, few // 2)))
    apart = settings_apart(plan)
    for setting in apart:
        found.append(Trials(1, plan.heldout, 0, own if plan.purpose else min(own, JUDGED), setting))
        if plan.purpose == "new_questions" and other is not None:
            found.append(Trials(1, other, 0, max(1, few // 2), setting))
    if plan.two_stages:
        deciding = (OWN, *(apart if plan.purpose else ()))
        found += [Trials(2, plan.heldout, own, plan.trials, setting) for setting in deciding]
    return found


def settings_apart(plan: Plan) -> tuple[TargetSetting, ...]:
    """Settings that need trials of their own, where there are models enough.

    None where the request names source or target models: it says itself who is new.
    """
    models = plan.models
    if models.source_ids or models.target_ids or plan.group or not plan.simulated:
        return ()
    return tuple(s for s in plan.target_settings if s != OWN and targets_apart(plan, s) is not None)


def in_setting(plan: Plan, setting: TargetSetting) -> Plan:
    """The plan of trials whose targets differ from the sources in this way; of the whole benchmark only."""
    if setting == OWN:
        return plan
    targets = targets_apart(plan, setting) or plan.models.targets
    models = replace(plan.models, targets=targets)
    return replace(plan, setting=setting, models=models, by_subtask=False)


def first_stage_plan(plan: Plan, heldout: int, setting: TargetSetting = OWN) -> Plan:
    """The plan of first-stage trials with so many examples held out."""
    plan = in_setting(plan, setting)
    left = plan.outline.n_examples - heldout
    most = LARGEST_SHARE * left if plan.auto and heldout else left
    sizes = tuple(size for size in plan.sizes if size <= most) or plan.sizes[:1]
    return replace(plan, heldout=heldout, sizes=sizes, truth=plan.truth if heldout else "same_items")


def second_stage_plan(matrix: Matrix, plan: Plan, first: Groups, setting: TargetSetting = OWN) -> Plan:
    """The plan of the second stage: the same sizes and methods in every setting.

    Parameters
    ----------
    first : mapping
        Estimates of the first stage.
    """
    curves = _first_curves(matrix, plan, first)
    asked = in_setting(plan, setting)
    if not curves:
        return replace(asked, sizes=plan.sizes[:1], specs=())
    left = plan.outline.n_examples - plan.heldout
    target = target_of(plan, PairSpread.of(matrix))
    worst = {key: WorstCurve(by_setting) for key, by_setting in curves.items()}
    found = second_stage(worst, target, left, min(left, plan.max_size or left))
    labels = {label for label, _ in found.methods}
    return replace(asked, sizes=found.sizes, specs=tuple(s for s in plan.specs if s.label in labels))


def _first_curves(matrix: Matrix, plan: Plan, first: Groups) -> dict[LineKey, dict[str, SizeCurve]]:
    """What the first stage measured of each line, by setting."""
    lines = {
        key: evaluated(matrix, first_stage_plan(plan, key.heldout, key.setting), estimates, None)
        for key, estimates in first.items()
    }
    curves: dict[LineKey, dict[str, SizeCurve]] = {}
    for name in (OWN, *(settings_apart(plan) if plan.purpose else ())):
        own = lines.get(Group(1, plan.heldout, name), {})
        other = other_heldout(plan)
        beside = {} if other is None else lines.get(Group(1, other, name), {})
        spread = spread_in(plan, matrix, name)
        for key, line in own.items():
            curve = curve_for(plan, plan.purpose, line, beside.get(key), spread)
            if curve is not None:
                curves.setdefault(key, {})[name] = curve
    return curves


def spread_in(plan: Plan, matrix: Matrix, setting: TargetSetting) -> PairSpread:
    """The pairs of models that may be targets in a setting."""
    if setting == OWN:
        return PairSpread.of(matrix)
    return PairSpread.of(matrix.take(models=np.sort(fixed_pools(plan, matrix, setting).targets)))


def evaluated(
    matrix: Matrix,
    plan: Plan,
    estimates: Estimates,
    subtask: int | None,
    members: NDArray[np.bool_] | None = None,
) -> dict[LineKey, Curve]:
    """The lines of one group of trials, on the whole benchmark or one subtask.

    Parameters
    ----------
    plan : Plan
        Of these trials.
    members : ndarray of bool, shape (M,), optional
        Compare these models only.
    """
    held = heldout_counts(matrix.strata, plan.heldout)
    counts = np.bincount(matrix.strata)
    n, out = (counts.sum(), held.sum()) if subtask is None else (counts[subtask], held[subtask])
    unit = units(plan, matrix).index(subtask)
    simulated = Simulated.of(plan, estimates, unit, int(n - out), int(out))
    rule = AgreementRule(plan.probability, plan.paper_compat)
    return {key_of(line): line for line in simulated.lines(rule, members)}


def grouped(pieces: Iterable[tuple[Mapping[str, Any], bytes]]) -> dict[Group, Estimates]:
    """Estimates by group, from the specs of parts and what they computed."""
    found: dict[Group, list[Estimates]] = {}
    for spec, blob in pieces:
        found.setdefault(Trials.of(spec).group, []).append(Estimates.from_bytes(blob))
    return {group: Estimates.joined(parts) for group, parts in found.items()}


def ran(plan: Plan, group: Group, estimates: Estimates) -> Plan:
    """The plan that these estimates were made by."""
    if group.stage == 1:
        return first_stage_plan(plan, group.heldout, group.setting)
    specs = tuple(spec for spec in plan.specs if spec.label in estimates.labels)
    return replace(in_setting(plan, group.setting), sizes=estimates.sizes, specs=specs)


def both_stages(
    matrix: Matrix,
    plan: Plan,
    groups: Groups,
    heldout: int,
    subtask: int | None = None,
    members: NDArray[np.bool_] | None = None,
    setting: TargetSetting = OWN,
) -> dict[LineKey, Curve]:
    """Lines of the trials of a setting with so many examples held out, both stages joined."""
    lines: dict[LineKey, Curve] = {}
    for group in (Group(stage, heldout, setting) for stage in (1, 2)):
        estimates = groups.get(group)
        if estimates is None or not len(estimates.targets):
            continue
        found = evaluated(matrix, ran(plan, group, estimates), estimates, subtask, members)
        for key, line in found.items():
            lines[key] = lines[key].joined(line) if key in lines else line
    return lines
