"""Examples to a decision: sessions against a comparison of fixed size, on real matrices.

`python -m benchmarks sessions` checks the targets; `python -m benchmarks.sessions` prints the tables
of docs/methods.md. Pairs of models whose full scores differ by a set amount are asked in
batches through the service's own engine, with 40 source models, the baseline among them.
Deterministic answers, truth: this benchmark.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.frontier import Matrix
from benchmarks.gates import apart, split
from service.engine.comparison import GateRule
from service.engine.comparison.sequential import Known, Looks, Mode, Question, look, plan_looks, prepare

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


@threadpool_limits.wrap(limits=1)
def run(matrix: Matrix, case: Case, *, draws: int = DRAWS, pairs: int = PAIRS, seed: int = 0) -> Outcome:
    """Sessions on one matrix."""
    scores = matrix.scores
    full, total = scores.mean(axis=1), scores.shape[1]
    rng = np.random.default_rng((seed, round(1000 * case.drop) % 1009))
    budget = min(case.budget or total, total)
    found = []
    for _ in range(draws):
        sources, candidates = split(full, rng, better=case.better)
        sources = sources[: case.sources]
        for baseline, candidate in apart(
            full, candidates if case.better else sources, candidates, case.drop, rng
        )[:pairs]:
            known = Known(scores[sources], None, scores[baseline], None, np.zeros(total, dtype=np.int32))
            found.append(
                _session(
                    known,
                    scores[candidate],
                    budget,
                    case,
                    int(rng.integers(2**31)),
                    full[candidate] - full[baseline],
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
    known: Known, candidate: Scores, budget: int, case: Case, seed: int, truth: float
) -> tuple[str, int, float, bool]:
    """Decision, examples, truth, and whether every interval held it."""
    prepared = prepare(known, budget, seed, case.mode)
    plan = plan_looks(budget, BATCH, len(candidate), case.rule.confidence, case.looks)
    answers, covered = candidate[prepared.order], True
    for number, size in enumerate(plan.sizes):
        found = look(prepared, plan, Question(case.rule), answers[:size], number)
        covered &= found.interval[0] - 1e-9 <= truth <= found.interval[1] + 1e-9
        if found.decision is not None:
            return found.decision, size, truth, covered
    raise AssertionError
