"""Several candidates against one baseline, and all of them among each other.

JSON: {confidence_each, comparisons: [as compare.py], ranking: as ranking.py, baseline first in its rows}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.answer import Comparison
from service.engine.comparison.compare import Setting, compare
from service.engine.comparison.gate import GateRule
from service.engine.comparison.ranking import Ranking, rank, simultaneous_confidence
from service.engine.comparison.repeats import repeated
from service.engine.comparison.sampling_design import Design


@dataclass(frozen=True, slots=True)
class Many:
    """Comparisons that hold together, and the ranking; row 0 of the ranking is the baseline."""

    confidence_each: float
    comparisons: tuple[Comparison, ...]
    ranking: Ranking


def compare_many(
    baseline: NDArray[np.float64],
    candidates: Sequence[NDArray[np.float64]],
    design: Design,
    rule: GateRule,
    setting: Setting | None = None,
) -> Many:
    """Compare each candidate so that all verdicts hold together at the rule's confidence.

    Parameters are those of `compare`; each comparison is made at Šidák's confidence.

    Raises
    ------
    Undefined
        Two models have no example in common.
    """
    setting = setting or Setting()
    each = simultaneous_confidence(rule.confidence, len(candidates))
    single = replace(rule, confidence=each)
    comparisons = tuple(compare(baseline, candidate, design, single, setting) for candidate in candidates)
    rows = np.array([repeated(scores.reshape(len(scores), -1)).mean for scores in (baseline, *candidates)])
    ranking = rank(rows, design, rule.confidence, setting.truth, setting.evidence, setting.baseline)
    return Many(each, comparisons, ranking)
