"""MDAD by size where several kinds of new models are expected: at each size that of the worst kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.measures.local_probit import Floats
from service.engine.measures.size_curve import Errors, SizeCurve


@dataclass(frozen=True, slots=True, eq=False)
class WorstCurve:
    """One method's curves.

    Attributes
    ----------
    by_setting : mapping of str to SizeCurve
        One at least.
    """

    by_setting: Mapping[str, SizeCurve]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Sizes measured, within the range that all curves have."""
        curves = self.by_setting.values()
        low, high = max(curve.sizes[0] for curve in curves), min(curve.sizes[-1] for curve in curves)
        found: NDArray[np.int64] = np.unique(np.concatenate([curve.sizes for curve in curves]))
        return np.asarray(found[(found >= low) & (found <= high)])

    @property
    def falls(self) -> bool:
        """Whether no MDAD may grow with the size."""
        return all(curve.falls for curve in self.by_setting.values())

    def log_mdad(self) -> Floats:
        """At the sizes measured."""
        return self.at(self.sizes)

    def worst(self, size: int) -> tuple[str, SizeCurve]:
        """The setting that decides at a size, and its curve."""
        at = np.array([size])
        return max(self.by_setting.items(), key=lambda item: float(item[1].at(at)[0]))

    def at(self, sizes: NDArray[np.integer], errors: float = 0.0, of: Errors = "trials") -> Floats:
        """Largest log MDAD, plus so many of its standard errors, at each size."""
        found = [curve.at(sizes, errors, of) for curve in self.by_setting.values()]
        return np.asarray(np.max(found, axis=0))

    def first_within(
        self,
        log_target: float,
        errors: float = 0.0,
        of: Errors = "trials",
        *,
        beyond: int = 0,
        listed: bool = False,
    ) -> int | None:
        """As of `SizeCurve`: smallest size from which on no setting is beyond the target."""
        found = [
            curve.first_within(log_target, errors, of, beyond=beyond, listed=listed)
            for curve in self.by_setting.values()
        ]
        known = [size for size in found if size is not None]
        return max(known) if len(known) == len(found) else None
