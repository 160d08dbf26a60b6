"""Sizes of micro-benchmarks: those a request lists, and where a search for them begins."""

from __future__ import annotations

import numpy as np

from service.engine.planning.fields import Fields, PlanError, is_int

AUTO = "auto"
SMALLEST = (2, 4)
"""Sizes for targets that 8 examples meet."""
FIRST_SIZES = 7
LARGEST = 250
"""Largest size a search begins with, or a quarter of the examples: the largest is what costs."""


def first_sizes(n_examples: int) -> tuple[int, ...]:
    """Where a search begins: 2, 4, and geometric sizes from 8 to 250 or a quarter, half at most."""
    most = max(min(n_examples // 2, max(LARGEST, n_examples // 4)), 1)
    spread = np.round(np.geomspace(min(8, most), most, FIRST_SIZES)).astype(int).tolist()
    return tuple(sorted({size for size in (*SMALLEST, *spread) if size <= most}))


def check_sizes(fields: Fields, n_examples: int, most: int) -> tuple[int, ...]:
    """The sizes a request lists, ascending and distinct.

    Parameters
    ----------
    most : int
        Examples left to choose from.
    """
    value = fields.get("sizes")
    if not isinstance(value, list) or not 1 <= len(value) <= 100:
        raise PlanError("/sizes", 'sizes is "auto" or a list of 1 to 100 whole numbers.')
    for at, size in enumerate(value):
        if not is_int(size) or size < 1:
            raise PlanError(f"/sizes/{at}", "A size is a whole number of at least 1.")
        if size > most:
            raise PlanError(f"/sizes/{at}", _too_large(size, n_examples, n_examples - most))
    return tuple(sorted(set(value)))


def _too_large(size: int, n_examples: int, heldout: int) -> str:
    if size > n_examples:
        return f"{size} is larger than the benchmark, which has {n_examples} examples."
    left = n_examples - heldout
    return (
        f"{size} is larger than the {left} examples left with {heldout} held out; lower holdout or the size."
    )
