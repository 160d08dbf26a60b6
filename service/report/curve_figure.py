"""The agreement curve: how often a pair is ordered right, by how far apart its models are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from scipy.optimize import isotonic_regression

from service.report import formatting
from service.report.charts import Axes, Panel
from service.report.curves import Judged, PlottedCurve, Result, plotted_curves, truths
from service.report.formatting import TRUTHS, count
from service.report.scales import Scale, ceiling, ticks
from service.report.svg import element, path, shortened

WIDTH, HEIGHT = 460.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 20.0, 62.0, 52.0
FLOOR = 0.4
LARGEST_DOT = 9.0
SPAN = 5


def curve_panels(result: Result) -> list[Panel]:
    """Of the recommended method and size, one panel a truth."""
    picked = shown(result)
    if picked is None:
        return []
    line, size = picked
    judged = [(truth, dict(line.judged(truth)).get(size)) for truth in truths(result)]
    drawn = [(truth, one) for truth, one in judged if one and one["curve"]]
    widest = max((_interesting(one) for _, one in drawn), default=0.0)
    return [_panel(result, line, size, truth, one, widest) for truth, one in drawn]


def shown(result: Result) -> tuple[PlottedCurve, int] | None:
    """The recommended line and the size measured nearest, else the best tested, else the first's largest."""
    found = plotted_curves(result)
    advice = result["recommendation"]
    for pick in filter(None, (advice, advice["best_tested"])):
        for line in found:
            sizes = [size for size, _ in line.judged("same_items")]
            if line.is_at(pick) and pick["size"] and sizes:
                return line, min(sizes, key=lambda size: abs(math.log(size / pick["size"])))
    return (found[0], list(found[0].judged("same_items"))[-1][0]) if found else None


def _interesting(judged: Judged) -> float:
    """How far to draw: well past the MDAD and its interval, where there are pairs so far apart."""
    last = float(judged["curve"][-1]["difference"])
    if judged["mdad"] is None:
        return last
    return min(last, max(SPAN * float(judged["mdad"]), 0.05))


def _panel(result: Result, line: PlottedCurve, size: int, truth: str, judged: Judged, widest: float) -> Panel:
    probability = result["settings"]["probability"]
    right = max(ceiling(widest), 0.05)
    x = Scale(0, right, LEFT, WIDTH - RIGHT)
    y = Scale(FLOOR, 1, HEIGHT - BOTTOM, TOP)
    axes = Axes(
        x, y,
        [(value, formatting.tick(value)) for value in ticks(0, right)],
        [(value, formatting.percent(value, 0)) for value in ticks(FLOOR, 1, 6)],
        "true difference between the two models, points",
        "pairs in the right order",
    )  # fmt: skip
    points = [point for point in judged["curve"] if point["difference"] <= right]
    body = [
        _interval(judged, axes),
        axes.draw(),
        _dots(points, axes),
        _fit(points, axes),
        _threshold(probability, axes),
        _marked(judged, axes),
        element(
            "text",
            f"On {TRUTHS[truth]}: {shortened(line.label, 32)}, {count(size, 'example')}",
            x=0, y=20, class_="head",
        ),
    ]  # fmt: skip
    title = f"Agreement by difference on {TRUTHS[truth]}: {line.label}, {count(size, 'example')}"
    return Panel(title, _description(points, judged, probability), WIDTH, HEIGHT, Markup("").join(body))


def _dots(points: Sequence[Mapping[str, Any]], axes: Axes) -> Markup:
    """One dot a bin, its area the number of pairs."""
    most = max((point["pairs"] for point in points), default=1)
    return Markup("").join(
        element(
            "circle",
            element(
                "title",
                f"{formatting.points(point['difference'])} points apart: "
                f"{formatting.percent(point['agreement'])} right, {count(point['pairs'], 'pair')}",
            ),
            cx=axes.x(point["difference"]),
            cy=axes.y(point["agreement"]),
            r=max(1.6, LARGEST_DOT * (point["pairs"] / most) ** 0.5),
            class_="band s0",
        )
        for point in points
    )


def _fit(points: Sequence[Mapping[str, Any]], axes: Axes) -> Markup:
    """The non-decreasing fit whose crossing is the MDAD."""
    if not points:
        return Markup("")
    fitted = isotonic_regression(
        [point["agreement"] for point in points], weights=[point["pairs"] for point in points]
    ).x
    line = [(axes.x(point["difference"]), axes.y(value)) for point, value in zip(points, fitted, strict=True)]
    return element("path", d=path(line), class_="series bold s0")


def _threshold(probability: float, axes: Axes) -> Markup:
    at = axes.y(probability)
    line = element("path", d=path([(axes.x.start, at), (axes.x.end, at)]), class_="target")
    said = f"{formatting.percent(probability, 0)} right"
    return line + element("text", said, x=axes.x.end - 4, y=at + 16, text_anchor="end", class_="good over")


def _interval(judged: Judged, axes: Axes) -> Markup:
    """Where the MDAD lies with 95 % confidence."""
    if judged["mdad"] is None or not judged["interval"]:
        return Markup("")
    low, high = judged["interval"]
    start, end = axes.x(low), axes.x.end if high is None else axes.x(high)
    return element(
        "rect",
        x=start,
        y=axes.y.end,
        width=max(end - start, 1.5),
        height=axes.y.start - axes.y.end,
        class_="band accent",
    )


def _marked(judged: Judged, axes: Axes) -> Markup:
    if judged["mdad"] is None:
        largest = formatting.points(judged["largest_difference"])
        said = f"MDAD {formatting.reason(judged.get('reason'))}: largest difference tested {largest} points"
        return element("text", said, x=axes.x.start + 8, y=axes.y.start - 12, class_="strong over")
    at, y = axes.x(judged["mdad"]), axes.y.start - 12
    line = element("path", d=path([(at, axes.y.start), (at, axes.y.end)]), class_="series thin accent")
    said = f"MDAD {formatting.mdad(judged)} points"
    if at < (axes.x.start + axes.x.end) / 2:
        return line + element("text", said, x=at + 8, y=y, class_="strong over")
    return line + element("text", said, x=at - 8, y=y, text_anchor="end", class_="strong over")


def _description(points: Sequence[Mapping[str, Any]], judged: Judged, probability: float) -> str:
    sample = points[:: max(1, len(points) // 8)]
    curve = ", ".join(
        f"{formatting.percent(point['agreement'], 0)} at {formatting.points(point['difference'])} points"
        for point in sample
    )
    ends = (
        f"{formatting.percent(probability, 0)} is reached at {formatting.mdad(judged)} points"
        if judged["mdad"] is not None
        else f"the MDAD is {formatting.reason(judged.get('reason'))}"
    )
    return f"Pairs in the right order: {curve}; {ends}."
