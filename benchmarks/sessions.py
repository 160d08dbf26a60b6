"""Examples to a decision: sessions against a comparison of fixed size, on real matrices.

`python -m benchmarks sessions` checks the targets; `python -m benchmarks.sessions` prints the tables
of docs/methods.md, with `--made` also on matrices that no constant was chosen on. Pairs of models
whose full scores differ by a set amount are asked in batches through the service's own engine, with
40 source models, the baseline among them. Deterministic answers, truth: this benchmark.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.frontier import DATA, Matrix, made, public
from benchmarks.gates import apart, split
from benchmarks.row import Row
from service.engine.comparison import GateRule
from service.engine.comparison.sequential import (
    Known,
    Looks,
    Mode,
    Question,
    learn,
    look,
    plan_looks,
    prepare,
    put_in_order,
)

BATCH, PAIRS, DRAWS = 25, 50, 4
Scores = NDArray[np.float64]
NON_INFERIORITY = GateRule(margin=0.02, confidence=0.9, preset="non_inferiority")
REGRESSION = GateRule(margin=0.0, confidence=0.9, preset="regression")


@dataclass(frozen=True)
class Case:
    """How one kind of session is run; the matrix's size as the budget for None."""

    budget: int | None
    rule: GateRule
    drop: float
    looks: Looks = "planned"
    mode: Mode = "random"
    better: bool = False
    sources: int = 40
    exact: bool = False
    """Whether the margin is each pair's own true drop, instead of the rule's."""


FULL, ARC = "gpqa", "arc_challenge"
# Matrix, session, least share decided rightly, largest mean number of examples.
TARGETS: tuple[tuple[str, Case, float, float], ...] = (
    (FULL, Case(200, NON_INFERIORITY, 0.10), 0.97, 115),
    (FULL, Case(200, NON_INFERIORITY, 0.10, mode="designed"), 0.99, 65),
    (ARC, Case(400, NON_INFERIORITY, 0.05), 0.75, 300),
    (FULL, Case(None, NON_INFERIORITY, 0.10), 0.99, 120),
    (FULL, Case(None, NON_INFERIORITY, 0.05), 0.99, 300),
    (FULL, Case(200, REGRESSION, 0.10), 0.97, 95),
    (ARC, Case(400, REGRESSION, 0.05), 0.93, 195),
)
# Matrix, session, share that may fail, largest mean number of examples.
FALSE: tuple[tuple[str, Case, float, float], ...] = (
    (FULL, Case(200, REGRESSION, 0.0), 0.07, 120),
    (ARC, Case(400, REGRESSION, 0.0), 0.07, 400),
    (FULL, Case(200, NON_INFERIORITY, 0.02, exact=True), 0.05, 200),
    (ARC, Case(400, NON_INFERIORITY, 0.02, exact=True), 0.05, 400),
    (FULL, Case(200, NON_INFERIORITY, 0.02, looks="any", exact=True), 0.05, 200),
)
FOUR = ("gpqa", "arc_challenge", "musr", "openllm_math")


@dataclass(frozen=True)
class Outcome:
    """Shares of decisions and the mean number of examples over pairs."""

    right: float
    wrong: float
    failed: float
    passed: float
    size: float
    pairs: int
    covered: float

    def error(self, share: float) -> float:
        """Standard error of a share."""
        return float((share * (1 - share) / max(self.pairs, 1)) ** 0.5)


def rows() -> Iterator[Row]:
    """Decisions and mean sizes beside the targets, sessions beside fixed sizes; none without the data."""
    if not DATA.is_dir():
        return
    matrices = {matrix.name: matrix for matrix in public()}
    for name, case, least, most in TARGETS:
        found = run(matrices[name], case)
        what = f"{name}: {said(case)}"
        limit = 1 + 2 * found.error(least) / found.right if found.right else 1.0
        yield Row(f"{what}: least right / right", least, found.right, limit=limit)
        yield Row(f"{what}: mean examples / most", found.size, most, limit=1.02)
    for name, case, most_failed, most in FALSE:
        found = run(matrices[name], case)
        what = f"{name}: {said(case)}"
        yield Row(f"{what}: failed", found.failed, limit=most_failed + 2 * found.error(most_failed))
        yield Row(f"{what}: mean examples / most", found.size, most, limit=1.02)
    for name in FOUR:
        case = Case(200, NON_INFERIORITY, 0.1)
        found, fixed = run(matrices[name], case), as_large(matrices[name], case)
        yield Row(
            f"{name}: {said(case)}: mean examples / fixed size that decides as often", found.size, fixed
        )


def said(case: Case) -> str:
    """The session in words."""
    budget = "all" if case.budget is None else case.budget
    kind = f"{case.rule.preset}, {case.mode}, {case.looks} looks"
    kind += ", margin at the truth" if case.exact else ""
    return f"{kind}, budget {budget}, {'better, ' if case.better else ''}−{100 * case.drop:g} points"


def as_large(matrix: Matrix, case: Case) -> int:
    """Smallest fixed size, looked at once, that decides rightly as often; the budget if none does."""
    wanted = run(matrix, case).right
    budget = min(case.budget or matrix.scores.shape[1], matrix.scores.shape[1])
    for size in range(50, budget, BATCH):
        if run(matrix, replace(case, budget=size), batch=size).right >= wanted:
            return size
    return budget


@threadpool_limits.wrap(limits=1)
def run(
    matrix: Matrix, case: Case, *, draws: int = DRAWS, pairs: int = PAIRS, seed: int = 0, batch: int = BATCH
) -> Outcome:
    """Sessions on one matrix."""
    scores = matrix.scores
    full, total = scores.mean(axis=1), scores.shape[1]
    rng = np.random.default_rng((seed, round(1000 * case.drop) % 1009))
    budget = min(case.budget or total, total)
    found = []
    for _ in range(draws):
        sources, candidates = split(full, rng, better=case.better)
        sources = sources[: case.sources]
        learnt = learn(scores[sources], np.zeros(total, dtype=np.int32))
        for baseline, candidate in apart(
            full, candidates if case.better else sources, candidates, case.drop, rng
        )[:pairs]:
            known = Known(learnt, scores[baseline])
            found.append(
                _session(
                    known,
                    scores[candidate],
                    budget,
                    case,
                    int(rng.integers(2**31)),
                    full[candidate] - full[baseline],
                    batch,
                )
            )
    decision = [one[0] for one in found]
    truth = np.array([one[2] for one in found])
    fails = np.array([d == "fail" for d in decision])
    passes = np.array([d == "pass" for d in decision])
    should_fail = truth < case.rule.threshold - 1e-12
    return Outcome(
        right=float(np.where(should_fail, fails, passes).mean()),
        wrong=float(np.where(should_fail, passes, fails).mean()),
        failed=float(fails.mean()),
        passed=float(passes.mean()),
        size=float(np.mean([one[1] for one in found])),
        pairs=len(found),
        covered=float(np.mean([one[3] for one in found])),
    )


def _session(
    known: Known, candidate: Scores, budget: int, case: Case, seed: int, truth: float, batch: int
) -> tuple[str, int, float, bool]:
    """Decision, examples, truth, and whether every interval held it."""
    prepared = prepare(known, put_in_order(known, budget, seed, case.mode), case.mode)
    rule = replace(case.rule, margin=max(-truth, 0.0)) if case.exact else case.rule
    plan = plan_looks(budget, batch, len(candidate), rule.confidence, case.looks)
    answers, covered = candidate[prepared.order], True
    for number, size in enumerate(plan.sizes):
        found = look(prepared, plan, Question(rule), answers[:size], number)
        covered &= found.interval[0] - 1e-9 <= truth <= found.interval[1] + 1e-9
        if found.decision is not None:
            return found.decision, size, truth, covered
    raise AssertionError


def table(matrix: Matrix) -> str:
    """Right, wrong and mean number of examples by budget, rule and drop, as Markdown."""
    lines = [
        f"{matrix.name}, {matrix.scores.shape[1]} examples",
        "| session | right | wrong | failed | mean examples | intervals that held |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for drop in (0.0, 0.02, 0.05, 0.1):
        for case in (
            Case(200, NON_INFERIORITY, drop),
            Case(200, NON_INFERIORITY, drop, looks="any"),
            Case(200, REGRESSION, drop),
        ):
            found = run(matrix, case)
            shares = (found.right, found.wrong, found.failed, found.size / 100, found.covered)
            cells = " | ".join(f"{100 * share:.0f}" for share in shares)
            lines.append(f"| {said(case)} ({found.pairs} pairs) | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """The tables of docs/methods.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--made", action="store_true")
    for matrix in (made if parser.parse_args().made else public)():
        print(table(matrix), flush=True)


if __name__ == "__main__":
    sys.exit(main())
