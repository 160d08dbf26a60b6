"""The page of a session: where it stands, estimate and interval by the number of answers, every look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from service.report.charts import Axes, Panel, Point, Series, draw_band, draw_line
from service.report.formatting import points, tick
from service.report.scales import Scale, ticks
from service.report.svg import element, path
from service.report.templates_env import render
from service.report.theme import look

WIDTH, HEIGHT = 620.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 600.0, 34.0, 270.0
HEADINGS = {
    "open": "Not decided yet",
    "exhausted": "The budget is used up, undecided",
    "stopped": "Stopped, undecided",
    "expired": "Expired, undecided",
    "pass": "It passes",
    "fail": "It fails",
    "known": "The score is known",
}


def session_page(session: Mapping[str, Any], matrix_name: str) -> str:
    """The page as HTML, of a session as `GET /sessions/{session_id}` gives it."""
    verdict = session["verdict"] if session["status"] == "decided" else session["status"]
    looks = session["looks"]
    return render(
        "session.html",
        session=session,
        matrix_name=matrix_name,
        heading=HEADINGS[verdict],
        picture=session_panel(session).svg("course") if looks else None,
    )


def session_panel(session: Mapping[str, Any]) -> Panel:
    """Estimate and interval at each look; a gate's margin, and the bounds at which it decides."""
    looks = session["looks"]
    threshold = _threshold(session["question"])
    axes = _axes(looks, session["budget"], threshold)
    course = Series(
        "estimate",
        look(0),
        tuple(_point(one) for one in looks),
        bold=True,
    )
    parts = [axes.draw()]
    if threshold is not None:
        parts += [_across(axes, threshold), *_bounds(axes, looks, threshold)]
    parts += [draw_band(course, axes), draw_line(course, axes)]
    last = looks[-1]
    return Panel(
        title="Estimate and interval by number of answers",
        description=f"{len(looks)} looks; the last, {_note(last)}.",
        width=WIDTH,
        height=HEIGHT,
        body=Markup("").join(parts),
    )


def _threshold(question: Mapping[str, Any]) -> float | None:
    if question["kind"] != "compare":
        return None
    margin = float(question["margin"])
    return margin if question["preset"] == "improvement" else -margin


def _axes(looks: Sequence[Mapping[str, Any]], budget: int, threshold: float | None) -> Axes:
    ends = [end for one in looks for end in one["interval"]]
    if threshold is not None:
        ends += [threshold + side * _half(one) for one in looks for side in (1, -1)]
    spare = 0.05 * (max(ends) - min(ends)) or 0.01
    low, high = max(min(ends) - spare, -1.0), min(max(ends) + spare, 1.0)
    return Axes(
        x=Scale(0, budget, LEFT, RIGHT),
        y=Scale(low, high, BOTTOM, TOP),
        x_ticks=[(value, f"{value:,.0f}") for value in ticks(0, budget)],
        y_ticks=[(value, tick(value)) for value in ticks(low, high)],
        x_title="examples answered",
        y_title="full score, %" if threshold is None else "candidate − baseline, points",
    )


def _across(axes: Axes, threshold: float) -> Markup:
    """The margin, a line from side to side."""
    at = axes.y(threshold)
    line = element("path", d=path([(axes.x.start, at), (axes.x.end, at)]), class_="target")
    words = element("text", "margin", x=axes.x.end, y=at - 5, text_anchor="end", class_="good")
    return line + words


def _bounds(axes: Axes, looks: Sequence[Mapping[str, Any]], threshold: float) -> list[Markup]:
    """Estimates beyond these are decided: the margin, half an interval further out."""
    lines = []
    for side in (1, -1):
        way = [(axes.x(one["size"]), axes.y(threshold + side * _half(one))) for one in looks]
        if len(way) > 1:
            lines.append(element("path", d=path(way), class_="series thin soft", stroke_dasharray="2 3"))
    return lines


def _half(one: Mapping[str, Any]) -> float:
    return float(one["interval"][1] - one["interval"][0]) / 2


def _point(one: Mapping[str, Any]) -> Point:
    low, high = one["interval"]
    return Point(one["size"], one["estimate"], low, high, _note(one))


def _note(one: Mapping[str, Any]) -> str:
    low, high = one["interval"]
    return f"{one['size']} examples: {points(one['estimate'])}, interval {points(low)} to {points(high)}"
