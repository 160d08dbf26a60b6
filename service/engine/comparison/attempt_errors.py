"""How attempts of two models ended: errors of the harness on one side look like a difference in ability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from service.engine.data.attempt_scores import ErrorPolicy, counting
from service.engine.data.attempts import FAILED, REFUSED, SCORED, WITHOUT_SCORE, ModelAttempts

LEAST_GAP = 0.02
"""Shares of errors that differ by less are not worth a warning, however sure the difference is."""
STANDARD_ERRORS = 2.576
"""Of the difference of two shares, under equal shares: chance alone warns in 1 % of comparisons."""


@dataclass(frozen=True, slots=True)
class ModelErrors:
    """The attempts of one model.

    Attributes
    ----------
    cells : int
        Examples with an attempt that counts: the denominator of its score.
    attempts : int
        Attempts that were made.
    errors : int
        Those of them that ended without a score.
    """

    model: str
    cells: int
    attempts: int
    errors: int
    least: int
    most: int

    @property
    def share(self) -> float:
        """Share of the attempts that ended without a score."""
        return self.errors / self.attempts if self.attempts else 0.0


def model_errors(model: str, attempts: ModelAttempts, errors: ErrorPolicy) -> ModelErrors:
    """Count the attempts of one model on the examples compared."""
    made = attempts.number((SCORED, FAILED, REFUSED, *WITHOUT_SCORE))
    counted = attempts.number(counting(errors))
    some = counted[counted > 0]
    return ModelErrors(
        model=model,
        cells=int((counted > 0).sum()),
        attempts=int(made.sum()),
        errors=int(attempts.number(WITHOUT_SCORE).sum()),
        least=int(some.min(initial=np.iinfo(np.int64).max)) if some.size else 0,
        most=int(counted.max(initial=0)),
    )


def imbalance(one: ModelErrors, other: ModelErrors, errors: ErrorPolicy) -> str | None:
    """A sentence where one side has many more errors than the other; None where it has not.

    The pooled test of two proportions.
    """
    total = one.attempts + other.attempts
    if not one.attempts or not other.attempts:
        return None
    pooled = (one.errors + other.errors) / total
    deviation = np.sqrt(pooled * (1 - pooled) * (1 / one.attempts + 1 / other.attempts))
    gap = abs(one.share - other.share)
    if gap < LEAST_GAP or gap < STANDARD_ERRORS * deviation:
        return None
    more, fewer = (one, other) if one.share > other.share else (other, one)
    count_as = "count as 0" if errors == "zero" else "are not counted"
    return (
        f"{more.model!r} ended without a score in {more.share:.1%} of its {more.attempts} attempts and "
        f"{fewer.model!r} in {fewer.share:.1%} of {fewer.attempts}. These {count_as}, so the difference may "
        "be the harness's; run these again, or compare with errors=zero and with errors=missing."
    )
