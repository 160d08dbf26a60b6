"""Estimates of all trials, compared pair by pair with the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.data.pairs import EQUAL, ModelPairs, choose_pairs, signs
from service.engine.experiment.curves import NEW, SAME, Cell, Curve, Errors
from service.engine.experiment.estimates import Estimates
from service.engine.experiment.splits import generator
from service.engine.experiment.trials import Entry, entries
from service.engine.measures.evaluate import AgreementResult, AgreementRule, evaluate_agreement
from service.engine.planning.plan import Plan

MOST_PAIRS = 400_000
"""Most pairs over all trials; beyond, each trial compares an equal sample."""


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """The trials of one unit.

    Attributes
    ----------
    curves : list of (int, int)
        Entry and size position of each curve.
    scores : ndarray of float64, shape (C, R, T)
    truths : dict
        Truth → sums of the targets' scores, (R, T), and number of examples.
    order : ndarray of int8, shape (C, P)
        Estimated order of each pair.
    models : ndarray of int64, shape (R, T)
        Targets, as rows of the matrix.
    """

    plan: Plan
    entries: tuple[Entry, ...]
    curves: list[tuple[int, int]]
    reasons: dict[tuple[int, int], str]
    scores: NDArray[np.float64]
    overlap: NDArray[np.float64]
    covered: NDArray[np.float64]
    truths: dict[str, tuple[NDArray[np.float64], int]]
    pairs: ModelPairs
    order: NDArray[np.int8]
    models: NDArray[np.int64]

    @classmethod
    def of(cls, plan: Plan, estimates: Estimates, unit: int, n_same: int, n_new: int) -> Simulated:
        """Compare the estimates of one unit with n_same selection and n_new held-out examples."""
        trials, targets = estimates.targets.shape
        reasons = {(e, s): why for (u, e, s), why in estimates.skipped.items() if u == unit}
        curves = [
            (e, s)
            for e in range(estimates.scores.shape[1])
            for s, size in enumerate(plan.sizes)
            if (e, s) not in reasons and size <= n_same
        ]
        picked = tuple(np.array(curves, dtype=np.int64).reshape(-1, 2).T)
        scores = estimates.scores[unit][picked]
        pairs = choose_pairs(targets, trials, MOST_PAIRS, generator(plan.seed, 0, "pairs"))
        order = np.empty((len(curves), len(pairs.first)), dtype=np.int8)
        for at, estimated in enumerate(scores):
            order[at] = signs(estimated[pairs.trial, pairs.first] - estimated[pairs.trial, pairs.second])
        truths = {SAME: (estimates.same[unit], n_same)}
        if n_new:
            truths[NEW] = (estimates.new[unit], n_new)
        return cls(
            plan,
            entries(plan),
            curves,
            reasons,
            scores,
            estimates.overlap[unit][picked],
            estimates.covered[picked],
            truths,
            pairs,
            order,
            estimates.targets.astype(np.int64),
        )

    def lines(self, rule: AgreementRule, members: NDArray[np.bool_] | None = None) -> list[Curve]:
        """One line an entry, evaluated on same items and, with examples held out, on new items.

        Parameters
        ----------
        members : ndarray of bool, shape (M,), optional
            Compare pairs between these models of the matrix only.
        """
        lines = [Curve(entry.spec, entry.sources) for entry in self.entries]
        for (e, s), why in self.reasons.items():
            lines[e].reasons[self.plan.sizes[s]] = why
        cells = [Cell({}, len(self.models)) for _ in self.curves]
        for truth in self.truths if self.curves else ():
            self._fill(cells, truth, self._evaluate(truth, rule, members))
        for (e, s), cell, overlap, covered in zip(
            self.curves, cells, self.overlap, self.covered, strict=True
        ):
            cell.coverage = _mean_of_known(covered)
            lines[e].cells[self.plan.sizes[s]] = cell
            stability = _mean_of_known(overlap)
            if stability is not None:
                lines[e].stability[self.plan.sizes[s]] = stability
        for line in lines:
            for truth in self.truths:
                line.set_curve(truth, self.truths[SAME][1])
        return lines

    def _fill(self, cells: list[Cell], truth: str, result: AgreementResult) -> None:
        """Add to each cell what holds of one truth."""
        for at, (cell, (extra, errors)) in enumerate(zip(cells, self._extras(truth), strict=True)):
            cell.results[truth] = (result, at)
            cell.extra[truth] = extra
            if truth == self.plan.truth:
                cell.errors = Errors(errors, self.models)

    def _evaluate(
        self, truth: str, rule: AgreementRule, members: NDArray[np.bool_] | None
    ) -> AgreementResult:
        pairs, order, difference = self.pairs, self.order, self._difference(truth)
        if members is not None:
            sides = (self.models[pairs.trial, side] for side in (pairs.first, pairs.second))
            kept = np.logical_and(*(members[rows] for rows in sides))
            pairs = ModelPairs(pairs.trial[kept], pairs.first[kept], pairs.second[kept], pairs.possible)
            order, difference = order[:, kept], difference[kept]
        agree = (order * np.sign(difference).astype(np.int8) > 0).astype(np.float32)
        tie = (order == 0).astype(np.float32)
        return evaluate_agreement(
            pairs,
            self.models,
            np.abs(difference),
            self.truths[truth][1],
            agree,
            tie,
            rule,
            counts=self.plan.outline.binary,
        )

    def _difference(self, truth: str) -> NDArray[np.float64]:
        """Difference of the true score sums of each pair; 0 for equal ones."""
        sums, n_examples = self.truths[truth]
        found = sums[self.pairs.trial, self.pairs.first] - sums[self.pairs.trial, self.pairs.second]
        return np.where(np.abs(found) <= EQUAL * n_examples, 0.0, found)

    def _extras(self, truth: str) -> Iterator[tuple[dict[str, Any], NDArray[np.float32]]]:
        """Kendall tau and estimation error of each curve, and the errors."""
        sums, n_examples = self.truths[truth]
        order = np.sign(self._difference(truth)).astype(np.int8)
        taus = kendall_tau(self.order, order, len(self.models))
        for scores, tau in zip(self.scores, taus, strict=True):
            error = np.abs(scores - sums / n_examples)
            extra = {
                "kendall_tau": _summary(tau),
                "estimation_error": {"mean": error.mean(), "p90": np.quantile(error, 0.9)},
            }
            yield extra, error.astype(np.float32)


def kendall_tau(order: NDArray[np.int8], truth: NDArray[np.int8], trials: int) -> NDArray[np.float64]:
    """Kendall's tau-b of each curve in each trial from the orders of its pairs, all or a sample.

    Parameters
    ----------
    order : ndarray of int8, shape (C, P)
        Estimated order of each pair: −1, 0 or 1; trial by trial, equally many in each.
    truth : ndarray of int8, shape (P,)

    Returns
    -------
    ndarray of float64, shape (C, R)
        NaN where all estimates or all true scores of a trial are equal.
    """
    shape = (len(order), trials, -1)
    concordant = (order * truth).reshape(shape).sum(axis=2, dtype=np.int64)
    ordered = (order != 0).reshape(shape).sum(axis=2) * (truth != 0).reshape(trials, -1).sum(axis=1)
    tau: NDArray[np.float64] = np.full(concordant.shape, np.nan)
    np.divide(concordant, np.sqrt(ordered), out=tau, where=ordered > 0)
    return tau


def _summary(tau: NDArray[np.float64]) -> dict[str, Any]:
    """Mean and standard deviation over the trials where tau is defined."""
    known = tau[np.isfinite(tau)]
    undefined = len(tau) - len(known)
    if not len(known):
        return {"mean": None, "sd": None, "reason": "constant in every trial"}
    answer: dict[str, Any] = {"mean": known.mean(), "sd": None, "reason": "defined in one trial only"}
    if len(known) > 1:
        answer = {"mean": known.mean(), "sd": known.std(ddof=1)}
    return answer | ({"undefined_trials": undefined} if undefined else {})


def _mean_of_known(values: NDArray[np.floating]) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None
