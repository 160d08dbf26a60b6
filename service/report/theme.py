"""Colours and marks that are distinguishable without colour vision, on paper and in dark mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from service.report.svg import element, path

Theme = Literal["light", "dark"]

LIGHT = {
    "paper": "#ffffff", "ink": "#16202c", "soft": "#556270", "line": "#d9dee4", "wash": "#f3f5f8",
    "accent": "#0b5cad", "good": "#00694f", "bad": "#b3261e", "warn": "#8a5a00",
    "s0": "#0068a8", "s1": "#c24a00", "s2": "#00785a", "s3": "#9b3d86",
    "s4": "#836700", "s5": "#4a4aa8", "s6": "#b3003c", "s7": "#3d4a57",
}  # fmt: skip
DARK = {
    "paper": "#12171e", "ink": "#e7ecf2", "soft": "#a3afbd", "line": "#323c48", "wash": "#1a212a",
    "accent": "#7cb8f5", "good": "#4fd1a5", "bad": "#ff8a80", "warn": "#f0bf5a",
    "s0": "#5db3f0", "s1": "#ff9a57", "s2": "#3fd0a4", "s3": "#e08bd0",
    "s4": "#dcc04a", "s5": "#a9a9ff", "s6": "#ff7d9c", "s7": "#c3ccd6",
}  # fmt: skip
COLOURS = sum(1 for name in LIGHT if name[1:].isdigit())

_DASHES = (None, "7 3", "2 3", "9 3 2 3", "5 2", "12 4", "1 4")


@dataclass(frozen=True, slots=True)
class ThemeStyle:
    """The style of one series; its class sets the colour."""

    colour: str
    mark: int
    dash: str | None


def look(number: int) -> ThemeStyle:
    """The style of the series with this number; the first 56 differ even without colour."""
    return ThemeStyle(
        f"s{number % COLOURS}", number % len(_MARKS), _DASHES[(number + number // len(_MARKS)) % len(_DASHES)]
    )


def mark(kind: int, x: float, y: float, colour: str, *, size: float = 4, open_: bool = False) -> Markup:
    """A filled or open mark at a point."""
    outline = [(x + dx * size, y + dy * size) for dx, dy in _MARKS[kind]]
    classes = f"mark {colour}{' open' if open_ else ''}"
    if not outline:
        return element("circle", cx=x, cy=y, r=size * 0.95, class_=classes)
    return element("path", d=path(outline, closed=True), class_=classes)


_CROSS = [(-0.4, -1.1), (0.4, -1.1), (0.4, -0.4), (1.1, -0.4), (1.1, 0.4), (0.4, 0.4),
          (0.4, 1.1), (-0.4, 1.1), (-0.4, 0.4), (-1.1, 0.4), (-1.1, -0.4), (-0.4, -0.4)]  # fmt: skip
_MARKS: tuple[list[tuple[float, float]], ...] = (
    [],
    [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    [(0, -1.15), (1.05, 0.75), (-1.05, 0.75)],
    [(0, -1.3), (1.0, 0), (0, 1.3), (-1.0, 0)],
    [(0, 1.15), (1.05, -0.75), (-1.05, -0.75)],
    _CROSS,
    [((x - y) * 0.75, (x + y) * 0.75) for x, y in _CROSS],
    [(-1.2, -0.5), (1.2, -0.5), (1.2, 0.5), (-1.2, 0.5)],
)


def style(palette: dict[str, str] | None) -> str:
    """CSS rules for figures, with the values of a palette or with variables that a page sets."""
    names = palette or {name: f"var(--{name})" for name in LIGHT}
    series = "".join(
        f".figure .{s}{{stroke:{names[s]}}}.figure .mark.{s}{{fill:{names[s]};stroke:none}}"
        f".figure .mark.open.{s}{{fill:{names['paper']};stroke:{names[s]};stroke-width:1.6}}"
        f".figure .band.{s}{{fill:{names[s]};stroke:none;fill-opacity:.16}}"
        for s in (*(f"s{i}" for i in range(COLOURS)), "soft", "accent")
    )
    return (
        f".figure text{{fill:{names['soft']};font-size:12.5px}}"
        f".figure .strong{{fill:{names['ink']}}}"
        f".figure .head{{fill:{names['ink']};font-size:14px;font-weight:600}}"
        f".figure .grid{{stroke:{names['line']};stroke-width:1}}"
        f".figure .series{{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}}"
        f".figure .dots{{fill:none;stroke-linecap:round}}"
        f".figure .bold{{stroke-width:3.2}}.figure .thin{{stroke-width:1.4}}"
        f".figure .target{{stroke:{names['good']};stroke-width:1.6;stroke-dasharray:5 4;fill:none}}"
        f".figure .good{{fill:{names['good']}}}"
        f".figure .over{{paint-order:stroke;stroke:{names['paper']};stroke-width:4;stroke-linejoin:round}}"
        f".figure .halo{{fill:none;stroke:{names['ink']};stroke-width:1.6}}"
        f".figure .leader{{stroke:{names['line']};stroke-width:1;fill:none}}"
        f".figure .bar{{fill:{names['accent']}}}.figure .bar.quiet{{fill:{names['line']}}}"
        f".figure .bracket{{fill:none;stroke:{names['ink']};stroke-width:2}}" + series
    )
