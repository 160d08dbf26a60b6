"""Everything a recommendation rests on: lines, their MDAD by size for each purpose, resolution, target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from service.engine.data.matrix import Matrix
from service.engine.experiment.curves import Curve
from service.engine.experiment.estimates import Estimates
from service.engine.experiment.exact import WholeBenchmark, exact_curve, random_curve
from service.engine.experiment.splits import heldout_counts, positions
from service.engine.measures.evaluate import LEAST_MODELS, AgreementRule
from service.engine.measures.resolution import PairSpread
from service.engine.measures.size_curve import SizeCurve
from service.engine.planning.plan import Plan
from service.engine.planning.sizes import first_sizes
from service.engine.reliability.candidates import LineKey, curve_for, key_of, target_of, theory
from service.engine.reliability.stages import both_stages, other_heldout

Check = Callable[[float], None]
FORMULA_SHARES = (0.7, 0.9)
"""Sizes of random draws beyond those searched, as shares of the examples."""
RANDOM: LineKey = ("random", None)


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
    """

    plan: Plan
    matrix: Matrix
    lines: list[Curve]
    beside: Mapping[LineKey, Curve]
    random: Curve
    heldout: int

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
    def candidates(self) -> dict[LineKey, SizeCurve]:
        """MDAD by size for the purpose asked for, of each distinct line."""
        return self.curves(self.plan.purpose)

    def curves(self, purpose: str | None) -> dict[LineKey, SizeCurve]:
        """MDAD by size for a purpose, of each distinct line that has one."""
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
    groups: Mapping[tuple[int, int], Estimates],
    subtask: int | None,
    check: Check,
) -> Evidence:
    """Evaluate the trials of the whole benchmark or one subtask, and what has a formula.

    Parameters
    ----------
    full : Matrix
        All examples.
    groups : mapping
        Estimates by stage and number of examples held out.
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
    return Evidence(plan, matrix, ordered, beside, random, heldout)


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
