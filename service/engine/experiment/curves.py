"""The lines of a result: each method (and number of sources) with its evaluated sizes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.measures.evaluate import AgreementResult, judgement, mdad_entry
from service.engine.measures.size_curve import SizeCurve
from service.engine.planning.plan import Spec

SAME, NEW = "same_items", "new_items"


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """How far estimated scores are off.

    Attributes
    ----------
    values : ndarray of float32, shape (R, T)
        Absolute errors of the targets of each trial.
    models : ndarray of int, shape (R, T)
        Which model each target is.
    """

    values: NDArray[np.float32]
    models: NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Cell:
    """One method at one size.

    Attributes
    ----------
    results : dict
        Truth → the evaluated curves and the place of this one among them.
    trials : int
        0 with a formula.
    extra : dict
        Truth → Kendall tau and estimation error.
    errors : Errors or None
        Of the estimates of trials, against the truth the plan asks for; None with a formula.
    coverage : float or None
        Share of full scores within the 90 % intervals that `/scores` serves; None where it serves none.
    """

    results: dict[str, tuple[AgreementResult, int]]
    trials: int = 0
    extra: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: Errors | None = None
    coverage: float | None = None

    def mdad(self, truth: str) -> float:
        """MDAD, +inf where not reached."""
        result, curve = self.results[truth]
        return float(result.mdad[curve])

    def agreement(self, truth: str) -> float:
        """Mean agreement."""
        result, curve = self.results[truth]
        return float(result.agreement[curve])

    def as_json(self, size: int) -> dict[str, Any]:
        """The cell as an entry of `sizes`."""
        answer: dict[str, Any] = {"size": size, "trials": self.trials, SAME: None, NEW: None}
        for truth, (result, curve) in self.results.items():
            answer[truth] = judgement(result, curve) | self.extra.get(truth, {})
        return answer


@dataclass(slots=True, eq=False)
class Curve:
    """One method (and number of source models) of a result.

    Attributes
    ----------
    sources : int or None
        Source models, None where the method looks at none.
    cells : dict
        Size → cell.
    reasons : dict
        Size → why the method could not work at it.
    notes : dict
        Size → fields added to its entry.
    stability : dict
        Size → mean Jaccard index of the sets two fits on the same data choose.
    two_stages : bool
        Whether its MDADs are read off a curve that joins two stages of trials.
    same_as : str or None
        Label of the line that this one is by construction on this matrix.
    """

    spec: Spec
    sources: int | None
    cells: dict[int, Cell] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    notes: dict[int, dict[str, Any]] = field(default_factory=dict)
    stability: dict[int, float] = field(default_factory=dict)
    curves: dict[str, SizeCurve] = field(default_factory=dict)
    two_stages: bool = False
    same_as: str | None = None

    @property
    def needs_trials(self) -> bool:
        """Whether its numbers are of trials rather than of a formula."""
        return any(cell.trials for cell in self.cells.values())

    @property
    def name(self) -> dict[str, Any]:
        """What identifies the line."""
        return {"label": self.spec.label, "source_models": self.sources}

    def set_curve(self, truth: str, n_examples: int) -> None:
        """Make the curve of MDAD by size from the cells below N, where there are any."""
        sizes = [n for n, cell in sorted(self.cells.items()) if n < n_examples and truth in cell.results]
        found = [self.cells[n].results[truth] for n in sizes]
        known = [k for k, (result, at) in enumerate(found) if np.isfinite(result.fits.log_mdad[at])]
        if not known:
            return
        self.curves[truth] = SizeCurve(
            np.array([sizes[k] for k in known]),
            np.array([found[k][0].fits.log_mdad[found[k][1]] for k in known]),
            np.stack([found[k][0].mdad_influence[found[k][1]] for k in known]),
            found[0][0].clusters,
            n_examples,
            falls=truth == SAME,
        )

    def renamed(self, spec: Spec) -> Curve:
        """The same numbers for a method that is this one by construction."""
        return replace(self, spec=spec, same_as=self.spec.label)

    def joined(self, second: Curve) -> Curve:
        """The line of a first stage joined with a second of other trials and sizes."""
        return Curve(
            self.spec,
            self.sources,
            self.cells | second.cells,
            self.reasons | second.reasons,
            self.notes | second.notes,
            self.stability | second.stability,
            {
                truth: curve.joined(second.curves[truth]) if truth in second.curves else curve
                for truth, curve in self.curves.items()
            },
            two_stages=True,
        )

    def as_json(self) -> dict[str, Any]:
        """The line as an entry of `methods`."""
        answer = {**self.spec.as_json(), "source_models": self.sources, "sizes": []}
        if self.same_as is not None:
            answer["same_as"] = self.same_as
        if not self.cells and self.reasons:
            return {**answer, "skipped": next(iter(self.reasons.values()))}
        answer["sizes"] = [
            self._entry(size)
            if size in self.cells
            else {"size": size, "trials": 0, SAME: None, NEW: None, "reason": self.reasons[size]}
            for size in sorted({*self.cells, *self.reasons})
        ]
        if self.stability:
            answer["stability"] = [{"size": n, "jaccard": j} for n, j in sorted(self.stability.items())]
        return answer

    def _entry(self, size: int) -> dict[str, Any]:
        """One size; of two stages, with the MDAD of both."""
        cell = self.cells[size]
        answer = cell.as_json(size) | self.notes.get(size, {})
        for truth, curve in self.curves.items():
            result = cell.results[truth][0]
            if self.two_stages and answer[truth]["mdad"] is not None and not result.rule.paper:
                errors = curve.errors_at(size)
                ends = (float(errors.trials), float(errors.models))
                answer[truth] |= mdad_entry(
                    float(curve.at(np.array([size]))[0]), ends, result.n_models, answer[truth]["gap"]
                )
        return answer
