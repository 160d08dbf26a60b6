"""Linear and logarithmic scales from data to drawing units, with round ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps [low, high] of the data onto [start, end] of the drawing, clamped."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The drawing coordinate of the value."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """About this many round values within [low, high]."""
    if high <= low:
        return [low]
    step = step_of((high - low) / about)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(at * step, 12) for at in range(first, last + 1)]


def step_of(rough: float) -> float:
    """The next of 1, 2, 2.5, 5 × a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough * (1 - 1e-9))


def ceiling(value: float, about: int = 5) -> float:
    """The smallest multiple of a round step that is not below the value."""
    if value <= 0:
        return 1.0
    step = step_of(value / about)
    return round(math.ceil(value / step - 1e-9) * step, 12)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions for labels: near the wanted ones, at least `gap` apart, within [low, high] if they fit."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    places = [0.0] * len(wanted)
    floor = low
    for rank, at in enumerate(order):
        room = high - gap * (len(order) - 1 - rank)
        places[at] = min(max(wanted[at], floor), room)
        floor = places[at] + gap
    return places
