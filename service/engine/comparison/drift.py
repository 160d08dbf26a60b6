"""Is a selection still good for the models that came after it?

Its estimates are compared with the full scores of models that joined the matrix since.
Agreement alone would mislead: newer models may just lie closer together. So it is set
against the agreement expected for these very pairs, were the errors still as large as
among the models known at the time: mean Φ(|Δ| / (√2 · deviation)). And scores can be off
while their order is right, so the size of the errors and their mean are tested too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.engine.comparison.intervals import Interval

# Fewer new models than this say nothing yet.
LEAST_NEW = 5
_LARGER = 1.25
_LEVEL = 0.025


@dataclass(frozen=True, slots=True)
class Drift:
    """How the selection does on models that joined later.

    Attributes
    ----------
    new_models, pairs : int
        Models that joined; pairs with at least one of them and different full scores.
    agreement : float, optional
        Share of those pairs ordered rightly, ties half; None without a pair.
    agreement_interval : (float, float), optional
        Jackknife over the new models, 95 %; None below five of them.
    agreement_expected : float, optional
        With errors as they were.
    deviation_then, deviation_now : float
        Root mean square error of the estimates, of the models known then and of the new.
    bias_now : float, optional
        Mean of estimate − full score of the new models.
    reselect : bool
        Beyond doubt, the agreement is below the expected by more than `tolerance`, the errors are
        larger than `_LARGER` times those of the models known then, or their mean is off by more than those.
    reasons : tuple of str
        Which of these: agreement, error, bias.
    """

    new_models: int
    pairs: int
    agreement: float | None
    agreement_interval: Interval | None
    agreement_expected: float | None
    deviation_then: float
    deviation_now: float | None
    bias_now: float | None
    reselect: bool
    reasons: tuple[str, ...] = ()


def drift(
    estimates: NDArray[np.float64],
    scores: NDArray[np.float64],
    joined: NDArray[np.bool_],
    tolerance: float = 0.02,
    usual: float = 0.0,
) -> Drift:
    """Measure the selection on the models that joined since.

    Parameters
    ----------
    estimates, scores : ndarray of float64, shape (M,)
        Estimated and full scores of all models, at least one of them known then.
    joined : ndarray of bool, shape (M,)
        Which joined after the selection was made.
    tolerance : float
        Loss of agreement that is put up with.
    usual : float
        Root mean square error to expect of models like the sources; errors of the sources
        themselves are smaller, since they had a part in the choice.
    """
    errors = estimates - scores
    then = float(np.sqrt((errors[~joined] ** 2).mean()))
    new = int(joined.sum())
    now = float(np.sqrt((errors[joined] ** 2).mean())) if new else None
    bias = float(errors[joined].mean()) if new else None
    worse = _worse(errors[joined], max(then, usual))
    first, second = np.triu_indices(len(scores), 1)
    kept = (joined[first] | joined[second]) & (np.abs(scores[first] - scores[second]) > 1e-12)
    first, second = first[kept], second[kept]
    if not len(first):
        return Drift(new, 0, None, None, None, then, now, bias, bool(worse), worse)
    right = _right(estimates, scores, first, second)
    gaps = np.abs(scores[first] - scores[second])
    expected = float(special.ndtr(gaps / max(2**0.5 * then, 1e-9)).mean())
    interval = _jackknife(right, first, second, np.flatnonzero(joined)) if new >= LEAST_NEW else None
    if interval is not None and interval[1] < expected - tolerance:
        worse = ("agreement", *worse)
    return Drift(
        new_models=new,
        pairs=len(first),
        agreement=float(right.mean()),
        agreement_interval=interval,
        agreement_expected=expected,
        deviation_then=then,
        deviation_now=now,
        bias_now=bias,
        reselect=bool(worse),
        reasons=worse,
    )


def _worse(errors: NDArray[np.float64], then: float) -> tuple[str, ...]:
    """Whether the new models' errors are larger, or off to one side, beyond doubt.

    A χ² test that their mean square is at most (_LARGER · then)², and a t-test that their mean is 0,
    where it is off by more than `then`.
    """
    count = len(errors)
    if count < LEAST_NEW:
        return ()
    found = []
    ratio = float((errors**2).sum()) / max((_LARGER * then) ** 2, 1e-12)
    if special.chdtrc(count, ratio) < _LEVEL:
        found.append("error")
    spread = float(errors.std(ddof=1)) / count**0.5
    off = abs(float(errors.mean()))
    if off > then and 2 * special.stdtr(count - 1, -off / max(spread, 1e-12)) < 2 * _LEVEL:
        found.append("bias")
    return tuple(found)


def _right(
    estimates: NDArray[np.float64], scores: NDArray[np.float64],
    first: NDArray[np.intp], second: NDArray[np.intp],
) -> NDArray[np.float64]:  # fmt: skip
    """1 where a pair is ordered rightly, ½ where it is tied, 0 where it is not."""
    order = (estimates[first] - estimates[second]) * np.sign(scores[first] - scores[second])
    return np.where(np.abs(order) <= 1e-12, 0.5, (order > 0).astype(np.float64))


def _jackknife(
    right: NDArray[np.float64], first: NDArray[np.intp], second: NDArray[np.intp], new: NDArray[np.intp]
) -> Interval:
    """Leave each new model out with all its pairs."""
    size = int(max(first.max(), second.max())) + 1
    sums = np.bincount(first, right, size) + np.bincount(second, right, size)
    counts = np.bincount(first, minlength=size) + np.bincount(second, minlength=size)
    left = (right.sum() - sums[new]) / np.maximum(len(right) - counts[new], 1)
    error = float(np.sqrt((len(new) - 1) / len(new) * ((left - left.mean()) ** 2).sum()))
    half = float(special.stdtrit(len(new) - 1, 0.975)) * error
    middle = float(right.mean())
    return max(0.0, middle - half), min(1.0, middle + half)
