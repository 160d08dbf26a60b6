"""Writes SVG as text; elements escape their content."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from markupsafe import Markup

# Characters that XML 1.0 cannot contain, even escaped, and half surrogate pairs.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# Direction overrides would affect the text after the name.
_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")


def element(tag: str, *content: str, **attributes: str | float | None) -> Markup:
    """`<tag attributes>content</tag>`; content that is not Markup is escaped.

    Underscores in attribute names stand for hyphens, a trailing one is dropped
    (`class_`); attributes that are None are left out.
    """
    rendered = Markup("").join(
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _number(value))
        for name, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(clean(part) for part in content)
    if not inside:
        return Markup("<{}{}/>").format(tag, rendered)
    return Markup("<{0}{1}>{2}</{0}>").format(tag, rendered, inside)


def clean(text: str) -> str:
    """Text that an XML document can contain, isolated in direction; Markup is unchanged."""
    if isinstance(text, Markup):
        return text
    return _OVERRIDES.sub("", _ILLEGAL.sub("\ufffd", text))


def shortened(name: str, most: int) -> str:
    """A name shortened to about `most` columns; the middle is cut, because the ends distinguish models."""
    name = clean(name)
    if width(name) <= most:
        return name
    tail = most // 3
    return f"{_fitting(name, most - tail - 1)}…{_fitting(name[::-1], tail)[::-1]}"


def width(text: str) -> int:
    """Number of columns as in a terminal: wide characters count as two, combining marks as none."""
    return sum(_columns(c) for c in text)


def path(points: Iterable[tuple[float, float]], *, closed: bool = False) -> str:
    """A polyline as path data."""
    steps = (f"{'L' if at else 'M'}{_number(x)} {_number(y)}" for at, (x, y) in enumerate(points))
    return "".join(steps) + ("Z" if closed else "")


def _fitting(text: str, most: int) -> str:
    used = 0
    for at, character in enumerate(text):
        used += _columns(character)
        if used > most:
            return text[:at]
    return text


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
