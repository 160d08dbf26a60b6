"""Several candidates against one baseline, and all of them among each other.

JSON: {confidence_each, comparisons: [as compare.py], ranking: as ranking.py, baseline first in its rows}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.comparison.answer import Comparison
from service.engine.comparison.compare import compare
from service.engine.comparison.gate import GateRule
from service.engine.comparison.order_probability import JEFFREYS
from service.engine.comparison.ranking import Ranking, rank, simultaneous_confidence
from service.engine.comparison.repeats import repeated
from service.engine.comparison.sampling_design import Design, Truth
from service.engine.comparison.scores import Estimator, KnownScores
from service.engine.comparison.selection_estimates import modelled


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
    *,
    truth: Truth = "population",
    clusters: Sequence[str] | None = None,
    prior: float = JEFFREYS,
    estimator: AbilityEstimator | Estimator | None = None,
    known: KnownScores | None = None,
) -> Many:
    """Compare each candidate so that all verdicts hold together at the rule's confidence.

    Parameters are those of `compare`; each comparison is made at Šidák's confidence. On
    a selection that is no sample, `estimator` is its basis and `known` the matrix's models.

    Raises
    ------
    Undefined
        Two models have no example in common.
    """
    each = simultaneous_confidence(rule.confidence, len(candidates))
    single = replace(rule, confidence=each)
    rows = np.array([repeated(scores.reshape(len(scores), -1)).mean for scores in (baseline, *candidates)])
    comparisons = []
    for candidate, row in zip(candidates, rows[1:], strict=True):
        by_model = None
        if estimator is not None and known is not None and not np.isnan(row - rows[0]).all():
            by_model = modelled(rows[0], row, estimator, known)
        comparisons.append(
            compare(
                baseline, candidate, design, single,
                truth=truth, clusters=clusters, prior=prior, modelled=by_model,
            )
        )  # fmt: skip
    return Many(each, tuple(comparisons), rank(rows, design, rule.confidence, truth, estimator, known))
