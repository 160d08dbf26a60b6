"""What a session is to decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from service.engine.comparison.gate import GateRule

Looks = Literal["planned", "any"]


@dataclass(frozen=True, slots=True)
class Question:
    """A gate on candidate − baseline, or a score known precisely enough.

    Attributes
    ----------
    rule : GateRule
        Margin, preset and confidence; of a score the confidence alone.
    precision : float, optional
        Half the width of the interval at which a score is known; None for a gate.
    run_variance : float, optional
        Stated variance of one answer from run to run: the question is then about new runs.
    """

    rule: GateRule
    precision: float | None = None
    run_variance: float | None = None
