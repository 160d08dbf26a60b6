"""The smallest size whose MDAD is within the target, with probability 0.8, however many methods compete.

Where several kinds of new models are expected, the MDAD is that of the worst kind. The size is the
first n with log MDAD(n) + k · standard error ≤ log target, the error being that of the same
experiment with other seeds (0 of a formula). One method alone needs k = Φ⁻¹(0.8). The best of K
methods whose order is open looks better than it is; k = Φ⁻¹(1 − 0.2 / K) keeps the promise for any
of them (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from scipy.special import ndtri

from service.engine.measures.worst_curve import WorstCurve

KEPT = 0.8
"""Probability with which the MDAD of the recommended size is within the target."""
OPEN = 2.0
"""Paired standard errors within which the order of two methods is open."""
SEEDS = float(ndtri(0.95))
"""Half of a 90 % interval, in standard errors."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class MinimalSize(Generic[Key]):
    """The smallest size, the methods that reach the target at it, and those whose order is open.

    Attributes
    ----------
    size : int
    reaching : tuple
        Methods within the target at this size, best first.
    contenders : tuple
        Methods not clearly behind the best at this size.
    margin : float
        k.
    """

    size: int
    reaching: tuple[Key, ...]
    contenders: tuple[Key, ...]
    margin: float


def margin(contenders: int) -> float:
    """How many standard errors for so many methods."""
    return float(ndtri(1 - (1 - KEPT) / max(contenders, 1)))


def minimal_size(
    curves: Mapping[Key, WorstCurve], target: float, most: int, *, listed: bool = False
) -> MinimalSize[Key] | None:
    """Find it; None where no method is within the target at any size up to `most`.

    Parameters
    ----------
    curves : mapping
        By method.
    target : float
        MDAD, as a fraction.
    listed : bool
        Only sizes measured count, not those between.
    """
    log_target = np.log(target) if target > 0 else -np.inf
    contenders: tuple[Key, ...] = ()
    while True:
        k = margin(len(contenders))
        sizes = _sizes(curves, log_target, k, most, listed=listed)
        if not sizes:
            return None
        size = min(sizes.values())
        best = _best(curves, [key for key in sizes if sizes[key] == size], size)
        rivals = tuple(key for key in curves if key == best or is_open(curves[key], curves[best], size))
        if len(rivals) <= len(contenders):
            break
        contenders = rivals
    reaching = _reaching(curves, sizes, size, log_target, k)
    return MinimalSize(size, reaching, rivals, k)


def _sizes(
    curves: Mapping[Key, WorstCurve], log_target: float, k: float, most: int, *, listed: bool
) -> dict[Key, int]:
    """The smallest size of each method that is within the target at one."""
    found = {key: smallest_size(curve, log_target, k, listed=listed) for key, curve in curves.items()}
    return {key: size for key, size in found.items() if size is not None and size <= most}


def _best(curves: Mapping[Key, WorstCurve], among: Sequence[Key], size: int) -> Key:
    return min(among, key=lambda key: value_at(curves[key], size))


def _reaching(
    curves: Mapping[Key, WorstCurve], sizes: Mapping[Key, int], size: int, log_target: float, k: float
) -> tuple[Key, ...]:
    """The methods within the target at a size, best first."""
    reaching = [key for key in sizes if sizes[key] == size or within(curves[key], size, log_target, k)]
    return tuple(sorted(reaching, key=lambda key: value_at(curves[key], size)))


def value_at(curve: WorstCurve, size: int) -> float:
    """Log MDAD at a size, +inf where it was not measured near it."""
    if not curve.sizes[0] <= size <= curve.sizes[-1]:
        return np.inf
    return float(curve.at(np.array([size]))[0])


def within(curve: WorstCurve, size: int, log_target: float, k: float) -> bool:
    """Whether log MDAD + k standard errors is within the target at a size."""
    if not curve.sizes[0] <= size <= curve.sizes[-1]:
        return False
    return bool(curve.at(np.array([size]), k)[0] <= log_target + 1e-12)


def is_open(curve: WorstCurve, best: WorstCurve, size: int, errors: float = OPEN) -> bool:
    """Whether a method's MDAD at a size is less than so many paired standard errors above the best's."""
    behind = value_at(curve, size) - value_at(best, size)
    return behind < errors * paired_error(curve, best, size)


def paired_error(one: WorstCurve, other: WorstCurve, size: int) -> float:
    """Standard error over seeds of the difference of two log MDADs at one size."""
    (setting, ours), (beside, theirs) = one.worst(size), other.worst(size)
    first, second = ours.influence_at(size), theirs.influence_at(size)
    if setting == beside and first.shape == second.shape:
        return float(ours.clusters.errors(first - second).trials)
    return float(np.hypot(ours.clusters.errors(first).trials, theirs.clusters.errors(second).trials))


def smallest_size(curve: WorstCurve, log_target: float, k: float, *, listed: bool = False) -> int | None:
    """First size whose log MDAD is k standard errors within the target; None where none measured is."""
    return curve.first_within(log_target, k, listed=listed)


def seed_interval(
    curve: WorstCurve, log_target: float, k: float, *, listed: bool = False
) -> tuple[int | None, int | None]:
    """Sizes that the same experiment with other seeds would give in 90 % of cases; None beyond those
    measured.
    """
    low = smallest_size(curve, log_target, k - SEEDS, listed=listed)
    return low, smallest_size(curve, log_target, k + SEEDS, listed=listed)
