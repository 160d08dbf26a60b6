"""What gates find, and how often they fail without cause, on real matrices.

`python -m benchmarks gates` checks the targets; `python -m benchmarks.gates` prints the
tables of docs/choosing-a-size.md. Pairs of models whose full scores differ by a set amount
are compared by the service's own `compare`; 40 other models are the sources, among them the
baseline where candidates are like the sources. Deterministic answers, truth: this benchmark.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.frontier import public
from benchmarks.row import Row
from service.engine.comparison import Design, DesignedEvidence, GateRule, SampledEvidence, Setting, compare
from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.comparison.full_scores import Evidence
from service.engine.comparison.gate import verdict
from service.engine.comparison.intervals import Interval
from service.engine.data.contracts import Source
from service.engine.prediction.ability_model import fit_ability_model
from service.engine.selection.optimal_design import FittedDesign, OptimalDesign

SOURCES, DRAWS, PAIRS = 40, 4, 50
DROPS, SIZES = (0.0, 0.02, 0.05, 0.1), (50, 100, 250, 500)
NEAR, NEAR_EQUAL = 0.006, 0.0035
"""How far from the drop asked for a pair's true one may be."""
REGRESSION = GateRule(margin=0.0, confidence=0.9, preset="regression")
NON_INFERIORITY = GateRule(margin=0.05, confidence=0.9, preset="non_inferiority")
IMPROVEMENT = GateRule(margin=0.0, confidence=0.9, preset="improvement")
Scores = NDArray[np.float64]
Models = NDArray[np.intp]


@dataclass(frozen=True)
class Case:
    """How the examples are chosen, and which models are the candidates."""

    designed: bool
    better: bool
    size: int = 100

    @property
    def name(self) -> str:
        models = "better than all sources" if self.better else "like the sources"
        return f"{'designed' if self.designed else 'random'}, {models}, {self.size} examples"


RANDOM, DESIGNED = Case(designed=False, better=False), Case(designed=True, better=False)
BETTER = Case(designed=False, better=True)
FOUND = {(RANDOM, 0.1): 0.90, (RANDOM, 0.05): 0.57, (DESIGNED, 0.1): 0.97, (DESIGNED, 0.05): 0.72}
MOST_FALSE = 0.06


def rows() -> Iterator[Row]:
    """Shares found as a part of the target, and false fails beside their limit and two standard errors."""
    for case in (RANDOM, DESIGNED, BETTER):
        for drop in DROPS:
            share, error = fails(case, REGRESSION, drop)
            what = f"{case.name}: fail at −{100 * drop:g} points"
            if (case, drop) in FOUND:
                yield Row(f"{what}: target / found", FOUND[case, drop], share, limit=1 + 2 * error / share)
            elif drop == 0:
                yield Row(what, share, limit=MOST_FALSE + 2 * error)
            else:
                yield Row(what, share)


def fails(case: Case, rule: GateRule, drop: float) -> tuple[float, float]:
    """Mean share of `fail` over the matrices, and its standard error."""
    return _mean(case, rule, drop, "fail")


def _mean(case: Case, rule: GateRule, drop: float, wanted: str) -> tuple[float, float]:
    shares, spreads = [], []
    for seed, matrix in enumerate(public()):
        scores = matrix.scores
        found = intervals(scores, case, drop, seed) if case.size < scores.shape[1] else []
        if found:
            share = float(np.mean([verdict(interval, rule) == wanted for interval in found]))
            shares.append(share)
            spreads.append(share * (1 - share) / len(found))
    return float(np.mean(shares)), float(np.sqrt(np.sum(spreads))) / len(shares)


_KEPT: dict[tuple[int, Case, float], list[Interval]] = {}


@threadpool_limits.wrap(limits=1)
def intervals(scores: Scores, case: Case, drop: float, seed: int) -> list[Interval]:
    """Of candidate − baseline, one a pair with this true drop."""
    key = (seed, case, drop)
    if key not in _KEPT:
        rng = np.random.default_rng((seed, case.size, round(1000 * drop) % 1009))
        full, found = scores.mean(axis=1), []
        for _ in range(DRAWS):
            sources, candidates = split(full, rng, better=case.better)
            draw = Draw(scores, Source(scores[sources], np.zeros(scores.shape[1], dtype=np.int32)))
            baselines = candidates if case.better else sources
            for baseline, candidate in apart(full, baselines, candidates, drop, rng):
                found.append(draw.interval(baseline, candidate, case, rng))
        _KEPT[key] = found
    return _KEPT[key]


def split(full: Scores, rng: np.random.Generator, *, better: bool) -> tuple[Models, Models]:
    """Source models and candidates: at random, or the best fifth after sources of the lower 60 %."""
    order = np.argsort(full)
    if better:
        return rng.permutation(order[: int(0.6 * len(full))])[:SOURCES], order[int(0.8 * len(full)) :]
    mixed = rng.permutation(len(full))
    return mixed[:SOURCES], mixed[SOURCES:]


def apart(
    full: Scores, baselines: Models, candidates: Models, drop: float, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Pairs (baseline, candidate) this far apart."""
    off = np.abs(full[baselines][:, None] - full[candidates][None] - drop)
    off[baselines[:, None] == candidates[None]] = np.inf
    first, second = np.nonzero(off < (NEAR if drop else NEAR_EQUAL))
    kept = rng.permutation(len(first))[:PAIRS]
    return [(int(baselines[first[at]]), int(candidates[second[at]])) for at in kept]


class Draw:
    """One draw of sources, and what is fitted to them once."""

    def __init__(self, scores: Scores, source: Source) -> None:
        self._scores, self._source = scores, source
        self._model, self._mean = fit_ability_model(source), source.scores.mean(axis=0)
        self._designs: dict[int | None, tuple[Source, FittedDesign]] = {}

    def interval(self, baseline: int, candidate: int, case: Case, rng: np.random.Generator) -> Interval:
        total = self._scores.shape[1]
        evidence, chosen = self._designed(baseline, case.size) if case.designed else self._drawn(case, rng)
        setting = Setting("full_benchmark", evidence=evidence, baseline=self._scores[baseline])
        both = self._scores[[baseline, candidate]][:, chosen]
        return compare(*both, Design.random(case.size, total), REGRESSION, setting).interval

    def _drawn(self, case: Case, rng: np.random.Generator) -> tuple[Evidence, NDArray[np.int64]]:
        total = self._scores.shape[1]
        chosen = np.sort(rng.permutation(total)[: case.size])
        share = np.full(case.size, case.size / total)
        return SampledEvidence(chosen, share, total, self._model, self._mean), chosen

    def _designed(self, baseline: int, size: int) -> tuple[Evidence, NDArray[np.int64]]:
        """The baseline joins the sources before fit and choice."""
        row = self._scores[baseline]
        key = None if (self._source.scores == row).all(axis=1).any() else baseline
        if key not in self._designs:
            source = self._source
            if key is not None:
                source = Source(np.vstack((source.scores, row)), source.strata)
            self._designs[key] = source, OptimalDesign().fit(source, np.random.default_rng(0))
        source, fitted = self._designs[key]
        chosen = fitted.pick(size).indices
        return DesignedEvidence(AbilityEstimator(fit_ability_model(source), chosen), source), chosen


def table(cases: Sequence[Case], rule: GateRule, wanted: str, signs: Sequence[float]) -> str:
    """Percent of a verdict by size and true difference, as Markdown."""
    heads = " | ".join(f"{'+' if sign > 0 else '−'}{abs(100 * sign):g}" if sign else "0" for sign in signs)
    lines = [f"| examples | {heads} |", "|--:|" + "--:|" * len(signs)]
    for case in cases:
        shares = [_mean(case, rule, -sign, wanted)[0] for sign in signs]
        lines.append(f"| {case.size} | " + " | ".join(f"{100 * share:.0f}" for share in shares) + " |")
    return "\n".join(lines)


def main() -> None:
    """The tables of docs/choosing-a-size.md."""
    losses, gains = [-drop for drop in DROPS], list(DROPS)
    for designed in (False, True):
        cases = [Case(designed=designed, better=False, size=size) for size in SIZES]
        kind = "designed" if designed else "random"
        print(f"{kind}: regression fails\n{table(cases, REGRESSION, 'fail', losses)}\n", flush=True)
        print(
            f"{kind}: non_inferiority passes\n{table(cases, NON_INFERIORITY, 'pass', losses)}\n", flush=True
        )
        if not designed:
            print(f"{kind}: improvement passes\n{table(cases, IMPROVEMENT, 'pass', gains)}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
