"""The difference of two models on each subtask: an average that passes may hide one that fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.gate import GateRule, Preset, Verdict, verdict
from service.engine.comparison.intervals import Interval
from service.engine.comparison.paired import PairedScores, difference
from service.engine.comparison.ranking import simultaneous_confidence
from service.engine.comparison.sampling_design import Design, Truth


@dataclass(frozen=True, slots=True, eq=False)
class Subtasks:
    """Which subtask each example is of.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        Of each example asked, 0 … K−1.
    names : sequence of str, length K
    sizes : ndarray of int, shape (K,)
        Examples of each in the full benchmark.
    sampled : bool
        Whether the examples asked are a probability sample; else those of a subtask stand for
        questions like them.
    """

    codes: NDArray[np.integer]
    names: Sequence[str]
    sizes: NDArray[np.integer]
    sampled: bool = True


@dataclass(frozen=True, slots=True)
class SubtaskDifference:
    """Candidate − baseline on one subtask.

    Attributes
    ----------
    interval : (float, float)
        All subtasks' intervals hold together at the comparison's confidence (Šidák).
    verdict : str, optional
        By the subtask margin; None where there is none.
    dropped : bool
        Whether the interval lies below zero.
    """

    subtask: str
    n: int
    n_benchmark: int
    baseline_score: float
    candidate_score: float
    difference: float
    interval: Interval
    verdict: Verdict | None
    dropped: bool


def subtask_differences(
    pairs: PairedScores, codes: NDArray[np.integer], subtasks: Subtasks, rule: GateRule, truth: Truth
) -> tuple[SubtaskDifference, ...]:
    """Differences of every subtask with an example both answered.

    Parameters
    ----------
    pairs : PairedScores
        On the examples both answered.
    codes : ndarray of int, shape (n,)
        Subtask of each of these.
    subtasks : Subtasks
    rule : GateRule
    truth : "population", "full_benchmark" or "runs"
    """
    present = np.unique(codes)
    each = replace(rule, confidence=simultaneous_confidence(rule.confidence, len(present)))
    return tuple(_one(pairs, codes == code, int(code), subtasks, each, truth) for code in present)


def subtask_verdict(overall: Verdict, found: Sequence[SubtaskDifference]) -> Verdict:
    """The verdict of average and subtasks together: the worst."""
    verdicts = {overall, *(one.verdict for one in found if one.verdict is not None)}
    if "fail" in verdicts:
        return "fail"
    return "inconclusive" if "inconclusive" in verdicts else "pass"


def _one(
    pairs: PairedScores,
    member: NDArray[np.bool_],
    code: int,
    subtasks: Subtasks,
    rule: GateRule,
    truth: Truth,
) -> SubtaskDifference:
    count, total = int(member.sum()), int(subtasks.sizes[code])
    groups = None
    if pairs.clusters is not None:
        groups = np.unique(pairs.clusters[member], return_inverse=True)[1].astype(np.int64)
    part = PairedScores(
        pairs.baseline[member],
        pairs.candidate[member],
        Design.random(count, total),
        None if groups is None or groups.max() + 1 == count else groups,
        None if pairs.noise is None else pairs.noise[member],
    )
    if groups is not None and groups.max() == 0:
        part = replace(part, clusters=None)
    whole = subtasks.sampled or count == total
    found = difference(part, rule.confidence, truth if whole else "population")
    margin = rule.subtask_margin
    return SubtaskDifference(
        subtask=subtasks.names[code],
        n=count,
        n_benchmark=total,
        baseline_score=float(part.baseline.mean()),
        candidate_score=float(part.candidate.mean()),
        difference=found.difference,
        interval=found.interval,
        verdict=None if margin is None else verdict(found.interval, _no_drop(rule, margin)),
        dropped=found.interval[1] < 0,
    )


def _no_drop(rule: GateRule, margin: float) -> GateRule:
    """Of subtasks a drop is asked about, also where the average is to improve."""
    preset: Preset = "non_inferiority" if rule.preset == "non_inferiority" else "regression"
    return replace(rule, margin=margin, preset=preset)
