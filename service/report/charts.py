"""Shared parts of figures: a panel with its axes, and lines with names at their ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from service.report.scales import Scale, spread
from service.report.svg import element, path, shortened
from service.report.theme import ThemeStyle, mark

LINE_HEIGHT = 17
LABEL_COLUMNS = 21


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing of a figure, with a title and a description for screen readers."""

    title: str
    description: str
    width: float
    height: float
    body: Markup

    def svg(self, name: str, *, x: float | None = None, y: float | None = None) -> Markup:
        """An `<svg>` element; `name` makes its ids unique on the page."""
        fixed = {} if x is None else {"x": x, "y": y, "width": self.width, "height": self.height}
        return element(
            "svg",
            element("title", self.title, id=f"{name}-title"),
            element("desc", self.description, id=f"{name}-desc"),
            self.body,
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            role="img",
            aria_labelledby=f"{name}-title {name}-desc",
            class_="panel",
            **fixed,
        )


@dataclass(frozen=True, slots=True)
class Point:
    """A value at x; y is None if there is no value, and `note` says why."""

    x: float
    y: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points joined by a line, in ascending order of x."""

    label: str
    look: ThemeStyle
    points: tuple[Point, ...]
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of a panel: both scales, ticks with their labels, and titles."""

    x: Scale
    y: Scale
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    x_title: str
    y_title: str

    def draw(self) -> Markup:
        """Draw grid lines, tick labels and titles."""
        left, right, bottom, top = self.x.start, self.x.end, self.y.start, self.y.end
        parts = [element("path", d=path([(left, bottom), (right, bottom)]), class_="grid")]
        for value, word in self.y_ticks:
            at = self.y(value)
            parts.append(element("path", d=path([(left, at), (right, at)]), class_="grid"))
            parts.append(element("text", word, x=left - 7, y=at + 4.5, text_anchor="end"))
        for at, word in _without_overlap((self.x(value), word) for value, word in self.x_ticks):
            parts.append(element("path", d=path([(at, bottom), (at, bottom + 4)]), class_="grid"))
            parts.append(element("text", word, x=at, y=bottom + 18, text_anchor="middle"))
        parts.append(element("text", self.x_title, x=(left + right) / 2, y=bottom + 37, text_anchor="middle"))
        parts.append(element("text", self.y_title, x=0, y=top - 14))
        return Markup("").join(parts)


def draw_line(series: Series, axes: Axes) -> Markup:
    """Draw the line and its marks; a missing value is an open mark at the upper edge."""
    weight = "bold" if series.bold else "thin"
    parts = [
        element(
            "path",
            d=path(run),
            class_=f"series {weight} {series.look.colour}",
            stroke_dasharray=None if series.bold else series.look.dash,
        )
        for run in _runs(series.points, axes)
        if len(run) > 1
    ]
    for point in series.points:
        at = axes.y.end - 6 if point.y is None else axes.y(point.y)
        shape = mark(
            series.look.mark, axes.x(point.x), at, series.look.colour,
            size=5.5 if series.bold else 4, open_=point.y is None,
        )  # fmt: skip
        parts.append(element("g", element("title", f"{series.label}, {point.note}"), shape))
    return Markup("").join(parts)


def draw_band(series: Series, axes: Axes) -> Markup:
    """Draw the interval around a line; an open end extends to the edge of the frame."""
    known = [p for p in series.points if p.y is not None and p.low is not None]
    if len(known) < 2:
        return Markup("").join(_whisker(p, series, axes) for p in known)
    lower = [(axes.x(p.x), axes.y(axes.y.low if p.low is None else p.low)) for p in known]
    upper = [(axes.x(p.x), axes.y(axes.y.high if p.high is None else p.high)) for p in known]
    return element("path", d=path(lower + upper[::-1], closed=True), class_=f"band {series.look.colour}")


def draw_names(series: Sequence[Series], axes: Axes) -> Markup:
    """Draw each line's name and mark at its right end, moved apart where lines meet."""
    ends = [_end(one, axes) for one in series]
    places = spread([y for _, y in ends], LINE_HEIGHT, axes.y.end, axes.y.start)
    parts = []
    for one, (x, y), place in zip(series, ends, places, strict=True):
        start = axes.x.end + 10
        parts.append(element("path", d=path([(x + 6, y), (start, y), (start + 12, place)]), class_="leader"))
        parts.append(mark(one.look.mark, start + 20, place, one.look.colour))
        # The number of source models distinguishes the lines of a learning curve, so it must not be cut off.
        name = shortened(one.label.removesuffix(" sources"), LABEL_COLUMNS)
        classes = "strong" if one.bold else None
        text = element("text", element("title", one.label), name, x=start + 30, y=place + 4.5, class_=classes)
        parts.append(text)
    return Markup("").join(parts)


def height_for(names: int) -> float:
    """Height of a panel with this many names at its side."""
    return max(320, names * LINE_HEIGHT + 100)


def _whisker(point: Point, series: Series, axes: Axes) -> Markup:
    x = axes.x(point.x)
    low = axes.y(axes.y.low if point.low is None else point.low)
    high = axes.y(axes.y.high if point.high is None else point.high)
    lines = (
        path([(x - 4, low), (x + 4, low)])
        + path([(x, low), (x, high)])
        + path([(x - 4, high), (x + 4, high)])
    )
    return element("path", d=lines, class_=f"series thin {series.look.colour}")


def _end(series: Series, axes: Axes) -> tuple[float, float]:
    shown = [p for p in series.points if p.y is not None]
    if not shown:
        return axes.x.end, axes.y.end - 6
    return axes.x(shown[-1].x), axes.y(shown[-1].y or 0.0)


def _runs(points: Iterable[Point], axes: Axes) -> Iterator[list[tuple[float, float]]]:
    """Runs of consecutive points with a value."""
    run: list[tuple[float, float]] = []
    for point in points:
        if point.y is None:
            yield run
            run = []
        else:
            run.append((axes.x(point.x), axes.y(point.y)))
    yield run


def _without_overlap(ticks: Iterable[tuple[float, str]], gap: float = 8) -> Iterator[tuple[float, str]]:
    """Ticks whose labels do not touch the previous label."""
    free = float("-inf")
    for at, word in ticks:
        half = len(word) * 3.6
        if at - half >= free:
            yield at, word
            free = at + half + gap
