"""Equal for all that matters: two one-sided tests (Schuirmann 1987).

"Not significant" is never "equal". Equivalence is shown only when both "worse by
the margin or more" and "better by the margin or more" are rejected.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy import special

from service.engine.comparison.paired import Estimate, score_statistic


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Outcome of the two tests.

    Attributes
    ----------
    margin : float
        Differences below this count as none.
    level : float
        Of each one-sided test.
    p_not_worse, p_not_better : float
        One-sided p-values against "worse by the margin", "better by the margin".
    p : float
        The larger of the two.
    equivalent : bool
        Whether p is at most `level`.
    """

    margin: float
    level: float
    p_not_worse: float
    p_not_better: float
    p: float
    equivalent: bool


def equivalence(estimate: Estimate, movement: float, margin: float, level: float = 0.05) -> Equivalence:
    """Test a paired difference for equivalence within ±margin.

    Parameters
    ----------
    estimate : Estimate
    movement : float
        Mean absolute difference of the same examples; the disagreement rate of 0/1 scores.
    margin : float
        Above 0.
    level : float
    """
    lower, upper = _tail(estimate, movement, -margin), _tail(estimate, movement, margin)
    not_worse, not_better = 1 - lower, upper
    p = max(not_worse, not_better)
    return Equivalence(margin, level, not_worse, not_better, p, p <= level)


def _tail(estimate: Estimate, movement: float, at: float) -> float:
    """Probability of a difference at most the one seen, were `at` the truth."""
    if estimate.kind == "exact":
        return float(estimate.difference > at) if estimate.difference != at else 0.5
    if estimate.kind == "score":
        gain, loss = ((movement + sign * estimate.difference) / 2 * estimate.size for sign in (1, -1))
        return float(special.ndtr(score_statistic(gain, loss, estimate.size, at)))
    off = (estimate.difference - at) / estimate.standard_error
    return float(special.stdtr(estimate.freedom, off) if estimate.freedom else special.ndtr(off))
