"""Which trials a plan needs: with what held out, in which of two stages, on what sizes.

A plan's own trials hold out nothing, or what the paper's protocol asks for, or half of the examples
for new questions. Beside them the first stage has half as many trials of the other kind: nothing held
out beside half, half beside nothing. Trials of the same number draw the same models in all of them.

The second stage is a function of the first stage's estimates, so it does not depend on who runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.data.matrix import Matrix
from service.engine.experiment.curves import Curve
from service.engine.experiment.estimates import Estimates
from service.engine.experiment.simulated import Simulated
from service.engine.experiment.splits import heldout_counts
from service.engine.experiment.trials import units
from service.engine.measures.evaluate import AgreementRule
from service.engine.measures.resolution import PairSpread
from service.engine.planning.fields import heldout_count
from service.engine.planning.plan import PURPOSES, Plan
from service.engine.reliability.candidates import LineKey, curve_for, key_of, target_of
from service.engine.reliability.size_search import second_stage

LARGEST_SHARE = 0.9
"""Largest size of subsets of a half, where sizes are to be found."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials first … last − 1 of one stage, with so many examples held out."""

    stage: int
    heldout: int
    first: int
    last: int

    @property
    def group(self) -> tuple[int, int]:
        """Trials of one group are evaluated together."""
        return self.stage, self.heldout

    def as_spec(self) -> dict[str, Any]:
        """As a part's JSON."""
        return {"stage": self.stage, "heldout": self.heldout, "trials": [self.first, self.last]}

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Trials:
        """From a part's JSON."""
        return cls(spec["stage"], spec["heldout"], *spec["trials"])


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
    if plan.two_stages:
        found.append(Trials(2, plan.heldout, own, plan.trials))
    return found


def first_stage_plan(plan: Plan, heldout: int) -> Plan:
    """The plan of first-stage trials with so many examples held out."""
    left = plan.outline.n_examples - heldout
    most = LARGEST_SHARE * left if plan.auto and heldout else left
    sizes = tuple(size for size in plan.sizes if size <= most) or plan.sizes[:1]
    return replace(plan, heldout=heldout, sizes=sizes, truth=plan.truth if heldout else "same_items")


def second_stage_plan(matrix: Matrix, plan: Plan, first: Mapping[int, Estimates]) -> Plan:
    """The plan of the second stage.

    Parameters
    ----------
    first : mapping
        Estimates of the first stage, by number of examples held out.
    """
    spread = PairSpread.of(matrix)
    lines = {
        heldout: evaluated(matrix, first_stage_plan(plan, heldout), estimates, None)
        for heldout, estimates in first.items()
    }
    beside = lines.get(-1 if (other := other_heldout(plan)) is None else other, {})
    curves = {
        key: curve
        for key, line in lines[plan.heldout].items()
        if (curve := curve_for(plan, plan.purpose, line, beside.get(key), spread)) is not None
    }
    if not curves:
        return replace(plan, sizes=plan.sizes[:1], specs=())
    n_examples = plan.outline.n_examples
    left = n_examples - plan.heldout
    found = second_stage(curves, target_of(plan, spread), left, min(left, plan.max_size or left))
    labels = {label for label, _ in found.methods}
    return replace(plan, sizes=found.sizes, specs=tuple(s for s in plan.specs if s.label in labels))


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


def grouped(pieces: Iterable[tuple[Mapping[str, Any], bytes]]) -> dict[tuple[int, int], Estimates]:
    """Estimates by (stage, examples held out), from the specs of parts and what they computed."""
    found: dict[tuple[int, int], list[Estimates]] = {}
    for spec, blob in pieces:
        found.setdefault(Trials.of(spec).group, []).append(Estimates.from_bytes(blob))
    return {group: Estimates.joined(parts) for group, parts in found.items()}


def ran(plan: Plan, stage: int, heldout: int, estimates: Estimates) -> Plan:
    """The plan that these estimates were made by."""
    if stage == 1:
        return first_stage_plan(plan, heldout)
    specs = tuple(spec for spec in plan.specs if spec.label in estimates.labels)
    return replace(plan, sizes=estimates.sizes, specs=specs)


def both_stages(
    matrix: Matrix,
    plan: Plan,
    groups: Mapping[tuple[int, int], Estimates],
    heldout: int,
    subtask: int | None = None,
    members: NDArray[np.bool_] | None = None,
) -> dict[LineKey, Curve]:
    """Lines of the trials with so many examples held out, both stages joined."""
    lines: dict[LineKey, Curve] = {}
    for stage in (1, 2):
        estimates = groups.get((stage, heldout))
        if estimates is None or not len(estimates.targets):
            continue
        for key, line in evaluated(
            matrix, ran(plan, stage, heldout, estimates), estimates, subtask, members
        ).items():
            lines[key] = lines[key].joined(line) if key in lines else line
    return lines
