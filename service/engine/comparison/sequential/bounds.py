"""Critical values of group-sequential tests, by error spending.

Z at looks of information t₁ < … < t_K has the covariance of a Brownian motion at t, divided by √t.
The critical value of each look is the one at which the probability to cross there first is the
error spent there (Lan & DeMets 1983, Biometrika 70:659); the density of what has not crossed is
carried from look to look on a grid (Armitage, McPherson & Rowe 1969, J. R. Stat. Soc. A 132:235).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]

LARGEST = 8.0
"""Critical value where no error is spent: it is crossed with probability 10⁻¹⁵."""
_POINTS = 401
_ROOT_2PI = np.sqrt(2 * np.pi)


def critical_values(information: Floats, spent: Floats) -> Floats:
    """Two-sided critical values of |Z|.

    Parameters
    ----------
    information : ndarray of float64, shape (K,)
        Of each look, ascending, in any unit.
    spent : ndarray of float64, shape (K,)
        Error spent up to each look, both sides together; not descending, below 1.

    Returns
    -------
    ndarray of float64, shape (K,)
        At most `LARGEST`.

    Examples
    --------
    >>> t = np.arange(1, 6) / 5
    >>> np.round(critical_values(t, 0.05 * np.log(1 + (np.e - 1) * t)), 3)
    array([2.438, 2.427, 2.41 , 2.397, 2.386])
    """
    times = information / information[-1]
    values = np.empty(len(times))
    grid, mass = np.zeros(1), np.ones(1)
    before, used = 0.0, 0.0
    for at, (time, total) in enumerate(zip(times, spent, strict=True)):
        step = float(np.sqrt(time - before))
        root = float(np.sqrt(time))
        values[at] = value = _value(grid, mass, step, root, total - used)
        grid, mass = _carried(grid, mass, step, value * root)
        before, used = float(time), float(total)
    return values


def _value(grid: Floats, mass: Floats, step: float, root: float, error: float) -> float:
    """The value crossed first at this look with probability `error`."""

    def excess(value: float) -> float:
        return (
            float(mass @ (ndtr((grid - value * root) / step) + ndtr((-value * root - grid) / step))) - error
        )

    if error <= 0 or excess(LARGEST) >= 0:
        return LARGEST
    if len(grid) == 1:
        return float(min(-ndtri(error / 2), LARGEST))
    return float(brentq(excess, 0.0, LARGEST, xtol=1e-10)) if excess(0.0) > 0 else 0.0


def _carried(grid: Floats, mass: Floats, step: float, reach: float) -> tuple[Floats, Floats]:
    """Points and mass (Simpson's rule) of what has not crossed up to this look."""
    points = np.linspace(-reach, reach, _POINTS)
    weights = np.full(_POINTS, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    density = np.exp(-0.5 * ((points[:, None] - grid) / step) ** 2) @ mass / (step * _ROOT_2PI)
    return points, weights * (points[1] - points[0]) / 3 * density
