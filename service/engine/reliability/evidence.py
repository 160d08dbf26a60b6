"""Everything a recommendation rests on: lines, their MDAD by size for each purpose, resolution, target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from service.engine.data.matrix import Matrix
from service.engine.experiment.curves import Curve
from service.engine.experiment.exact import WholeBenchmark, exact_curve, random_curve
from service.engine.experiment.splits import heldout_counts, positions
from service.engine.experiment.target_pools import fixed_pools
from service.engine.measures.evaluate import LEAST_MODELS, AgreementRule
from service.engine.measures.resolution import PairSpread
from service.engine.measures.size_curve import SizeCurve
from service.engine.measures.worst_curve import WorstCurve
from service.engine.planning.plan import Plan
from service.engine.planning.sizes import first_sizes
from service.engine.planning.target_settings import OWN, TargetSetting
from service.engine.reliability.candidates import LineKey, curve_for, key_of, target_of, theory
from service.engine.reliability.stages import (
    Groups,
    both_stages,
    other_heldout,
    settings_apart,
    spread_in,
)

Check = Callable[[float], None]
FORMULA_SHARES = (0.7, 0.9)
"""Sizes of random draws beyond those searched, as shares of the examples."""
RANDOM: LineKey = ("random", None)


@dataclass(frozen=True, slots=True, eq=False)
class SettingLines:
    """Lines of the trials of one setting, and of those beside them; spread of the pairs of its targets."""

    lines: Mapping[LineKey, Curve]
    beside: Mapping[LineKey, Curve]
    spread: PairSpread

    def curve(self, key: LineKey, plan: Plan) -> SizeCurve | None:
        """MDAD by size for the plan's purpose."""
        line = self.lines.get(key)
        return (
            None if line is None else curve_for(plan, plan.purpose, line, self.beside.get(key), self.spread)
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """Of the whole benchmark or of one subtask.

    Attributes
    ----------
    matrix : Matrix
        Its examples only.
    lines : list of Curve
        In the order of the request.
    beside : mapping
        The same methods on the other trials, by line.
    random : Curve
        Uniform draws from the full benchmark, by formula.
    heldout : int
    apart : mapping
        The same for each other setting that new models are expected in.
    """

    plan: Plan
    matrix: Matrix
    lines: list[Curve]
    beside: Mapping[LineKey, Curve]
    random: Curve
    heldout: int
    apart: Mapping[TargetSetting, SettingLines] = field(default_factory=dict)

    @property
    def n_examples(self) -> int:
        """N."""
        return len(self.matrix.examples)

    @cached_property
    def spread(self) -> PairSpread:
        """Of the pairs of models."""
        return PairSpread.of(self.matrix)

    @cached_property
    def resolution(self) -> float:
        """Of the full benchmark, for new questions; +inf where no models differ."""
        return self.spread.resolution(self.plan.probability)

    @cached_property
    def target(self) -> float:
        """MDAD wanted."""
        return target_of(self.plan, self.spread)

    @cached_property
    def n_models(self) -> int:
        """Models that are ever compared."""
        found = [
            r.n_models for line in self.lines for c in line.cells.values() for r, _ in c.results.values()
        ]
        return max(found, default=self.plan.models.targets)

    @property
    def few(self) -> bool:
        """Whether models are too few to fit a curve to; random draws follow from their disagreement."""
        return self.n_models < LEAST_MODELS

    @cached_property
    def candidates(self) -> dict[LineKey, WorstCurve]:
        """MDAD by size for the purpose asked for, of each distinct line: the worst of the settings."""
        found = {}
        for key, own in self.own_curves(self.plan.purpose).items():
            by_setting: dict[str, SizeCurve] = {OWN: own}
            for setting, lines in self.apart.items() if self.plan.purpose is not None else ():
                curve = lines.curve(key, self.plan)
                if curve is not None and len(curve.sizes):
                    by_setting[setting] = curve
            found[key] = WorstCurve(by_setting)
        return found

    def curves(self, purpose: str | None) -> dict[LineKey, WorstCurve]:
        """MDAD by size for a purpose, of each distinct line that has one, for models like the sources."""
        return {key: WorstCurve({OWN: curve}) for key, curve in self.own_curves(purpose).items()}

    def own_curves(self, purpose: str | None) -> dict[LineKey, SizeCurve]:
        """MDAD by size of the plan's own trials."""
        if self.few:
            new = purpose == "new_questions" or (purpose is None and self.heldout > 0)
            curve = theory(self.spread, self.plan.probability, self.n_models, new_questions=new)
            return {} if curve is None else {RANDOM: curve}
        found = {}
        for line in self.lines:
            if line.same_as is None and line.cells:
                curve = curve_for(self.plan, purpose, line, self.beside.get(key_of(line)), self.spread)
                if curve is not None and len(curve.sizes):
                    found[key_of(line)] = curve
        return found

    def line(self, key: LineKey) -> Curve:
        """The line of this name; random by formula where the request has none."""
        return next((line for line in self.lines if key_of(line) == key), self.random)


def gather(
    full: Matrix,
    plan: Plan,
    groups: Groups,
    subtask: int | None,
    check: Check,
) -> Evidence:
    """Evaluate the trials of the whole benchmark or one subtask, and what has a formula.

    Parameters
    ----------
    full : Matrix
        All examples.
    groups : mapping
        Estimates by stage, number of examples held out, and setting.
    """
    matrix = full if subtask is None else full.take(examples=np.flatnonzero(full.strata == subtask))
    held = heldout_counts(full.strata, plan.heldout)
    heldout = int(held.sum() if subtask is None else held[subtask])
    lines: dict[LineKey, Curve] = {}
    beside: dict[LineKey, Curve] = {}
    if plan.simulated:
        lines = both_stages(full, plan, groups, plan.heldout, subtask)
        other = other_heldout(plan)
        beside = {} if other is None else both_stages(full, plan, groups, other, subtask)
    random, exact = _by_formula(plan, matrix, heldout, check)
    lines |= {key_of(line): line for line in exact}
    ordered = _in_order(plan, lines)
    apart = {}
    if subtask is None:
        apart = {s: _in_setting(full, plan, groups, s, check) for s in settings_apart(plan)}
    return Evidence(plan, matrix, ordered, beside, random, heldout, apart)


def _in_setting(
    matrix: Matrix, plan: Plan, groups: Groups, setting: TargetSetting, check: Check
) -> SettingLines:
    """Lines of one setting; those with a formula on the models that may be its targets."""
    lines = both_stages(matrix, plan, groups, plan.heldout, setting=setting)
    other = other_heldout(plan)
    beside = {} if other is None else both_stages(matrix, plan, groups, other, setting=setting)
    if setting != "family":
        pool = np.sort(fixed_pools(plan, matrix, setting).targets)
        _, exact = _by_formula(plan, matrix.take(models=pool), 0, check)
        lines |= {key_of(line): line for line in exact}
    return SettingLines(lines, beside, spread_in(plan, matrix, setting))


def formula_sizes(plan: Plan, n_examples: int, heldout: int) -> list[int]:
    """Sizes at which random draws are evaluated: those listed, or far apart up to nearly all."""
    if not plan.auto:
        most = n_examples - (heldout if plan.purpose is None else 0)
        return [size for size in plan.sizes if size <= most]
    far = {round(share * n_examples) for share in FORMULA_SHARES}
    return sorted(size for size in far | set(first_sizes(n_examples)) if 1 <= size < n_examples)


def _by_formula(plan: Plan, matrix: Matrix, heldout: int, check: Check) -> tuple[Curve, list[Curve]]:
    rule = AgreementRule(plan.probability, plan.paper_compat)
    rows = positions(matrix.models, plan.models.target_ids)
    judged = matrix.take(models=rows) if len(rows) else matrix
    whole = WholeBenchmark.of(judged, rule)
    random = random_curve(tuple(formula_sizes(plan, len(matrix.examples), heldout)), whole)
    exact = [spec for spec in plan.distinct if spec not in plan.simulated]
    return random, [exact_curve(spec, random, whole, check) for spec in exact]


def _in_order(plan: Plan, lines: Mapping[LineKey, Curve]) -> list[Curve]:
    """All lines in the order of the request; those that are another by construction with its numbers."""
    place = {spec.label: at for at, spec in enumerate(plan.specs)}
    found = list(lines.values())
    for spec in plan.specs:
        if (original := plan.same_as.get(spec.label)) is not None:
            found += [line.renamed(spec) for line in lines.values() if line.spec.label == original]
    return sorted(found, key=lambda line: place[line.spec.label])
