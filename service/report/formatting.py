"""Formats numbers and codes for people: fractions as percentage points or per cent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

NONE = "–"
REASONS = {
    "not_reached": "not reached",
    "no_comparable_pairs": "no pairs to compare",
}
TRUTHS = {"same_items": "same items", "new_items": "new items"}


def points(fraction: float | None, digits: int = 1) -> str:
    """A difference in percentage points."""
    return NONE if fraction is None else f"{100 * fraction:.{digits}f}"


def percent(fraction: float | None, digits: int = 1) -> str:
    """A fraction in per cent."""
    return NONE if fraction is None else f"{100 * fraction:.{digits}f}\u00a0%"


def tick(fraction: float) -> str:
    """A round value on an axis, in points."""
    return f"{100 * fraction:.3g}"


def number(count: float | None) -> str:
    """A count with thousands separators."""
    return NONE if count is None else f"{count:,}"


def span(interval: Sequence[float | None] | None) -> str:
    """An interval in points; an end that was not reached is open."""
    if interval is None:
        return ""
    low, high = interval
    return f"{points(low)}–{'…' if high is None else points(high)}"


def mdad(judged: Mapping[str, Any] | None) -> str:
    """An MDAD with its interval, or why there is none."""
    if judged is None:
        return NONE
    if judged["mdad"] is None:
        return reason(judged.get("reason"))
    interval = span(judged["interval"])
    return f"{points(judged['mdad'])} ({interval})" if interval else points(judged["mdad"])


def reason(code: str | None) -> str:
    """A reason as text."""
    return NONE if code is None else REASONS.get(code, code.replace("_", " "))


def count(number_of: int, noun: str) -> str:
    """`1 model`, `2,000 models`."""
    return f"{number_of:,} {noun}{'' if number_of == 1 else 's'}"


def moment(when: datetime | None) -> str:
    """A time to the second, in UTC."""
    return NONE if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def words(name: str) -> str:
    """`new_items` → new items."""
    return name.replace("_", " ")
