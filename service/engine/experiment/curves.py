"""The lines of a result: each method (and number of sources) with its judged sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.measures.bootstrap import ALL
from service.engine.measures.evaluate import AgreementResult, edges, judgement
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
    judged : dict
        Truth → the judged curves and the place of this one among them.
    extra : dict
        Truth → Kendall tau and estimation error.
    errors : Errors or None
        Of the estimates of trials, against the truth the plan asks for; None with a formula.
    """

    judged: dict[str, tuple[AgreementResult, int]]
    extra: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: Errors | None = None

    def mdad(self, truth: str, which: int = ALL) -> float:
        """MDAD, +inf where not reached."""
        judged, curve = self.judged[truth]
        return float(judged.mdad[which, curve])

    def agreement(self, truth: str, which: int = ALL) -> float:
        """Mean agreement."""
        judged, curve = self.judged[truth]
        return float(judged.agreement[which, curve])

    def resampled_agreement(self, truth: str, which: int = ALL) -> NDArray[np.float64] | None:
        """Agreement in each resample, shape (B,)."""
        judged, curve = self.judged[truth]
        return None if judged.resampled is None else judged.resampled.agreement[which, curve]

    def resampled_mdad(self, truth: str, which: int = ALL) -> NDArray[np.float64] | None:
        """MDAD in each resample, +inf where not reached, shape (B,); a formula knows no trials."""
        judged, curve = self.judged[truth]
        if judged.resampled is None:
            return None
        halves = len(judged.resampled.mdad) > 1
        return edges(judged.resampled.mdad[which if halves else ALL, curve])

    def as_json(self, size: int, which: int = ALL) -> dict[str, Any]:
        """The cell as an entry of `sizes`."""
        answer: dict[str, Any] = {"size": size, SAME: None, NEW: None}
        for truth, (judged, curve) in self.judged.items():
            answer[truth] = judgement(judged, curve, which) | self.extra.get(truth, {})
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
    """

    spec: Spec
    sources: int | None
    cells: dict[int, Cell] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    notes: dict[int, dict[str, Any]] = field(default_factory=dict)
    stability: dict[int, float] = field(default_factory=dict)

    @property
    def name(self) -> dict[str, Any]:
        """What identifies the line."""
        return {"label": self.spec.label, "source_models": self.sources}

    def as_json(self) -> dict[str, Any]:
        """The line as an entry of `methods`."""
        answer = {**self.spec.as_json(), "source_models": self.sources, "sizes": []}
        if not self.cells and self.reasons:
            return {**answer, "skipped": next(iter(self.reasons.values()))}
        answer["sizes"] = [
            self.cells[size].as_json(size) | self.notes.get(size, {})
            if size in self.cells
            else {"size": size, SAME: None, NEW: None, "reason": self.reasons[size]}
            for size in sorted({*self.cells, *self.reasons})
        ]
        if self.stability:
            answer["stability"] = [{"size": n, "jaccard": j} for n, j in sorted(self.stability.items())]
        return answer
