"""The page of a comparison: verdict, difference with its interval, what the gate can see, what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from service.report.formatting import points
from service.report.scales import Scale
from service.report.svg import element, path
from service.report.templates_env import render

MOST_FLIPS = 500
WIDTH, HEIGHT, MARGIN = 560.0, 64.0, 16.0

HEADINGS = {
    ("regression", "pass"): "No drop is shown",
    ("regression", "fail"): "A drop is shown",
    ("regression", "inconclusive"): "Too few answers for a verdict",
    ("non_inferiority", "pass"): "A drop beyond the margin is excluded",
    ("non_inferiority", "fail"): "A drop beyond the margin is shown",
    ("non_inferiority", "inconclusive"): "These examples cannot tell",
    ("improvement", "pass"): "A gain beyond the margin is shown",
    ("improvement", "fail"): "A gain beyond the margin is excluded",
    ("improvement", "inconclusive"): "These examples cannot tell",
}


@dataclass(frozen=True, slots=True)
class ShownComparison:
    """One candidate's part of the page: the answer's fields, a heading and a picture."""

    answer: Mapping[str, Any]
    heading: str
    picture: Markup


def comparison_page(answer: Mapping[str, Any], matrix_name: str, created_at: datetime) -> str:
    """The page as HTML.

    Parameters
    ----------
    answer : mapping
        As `/compare` gives it.
    created_at : datetime
        When it was last asked for.
    """
    shown = [
        ShownComparison(one, HEADINGS[one["preset"], one["verdict"]], _picture(one))
        for one in answer["comparisons"]
    ]
    return render(
        "comparison.html",
        answer=answer,
        matrix_name=matrix_name,
        created_at=created_at,
        comparisons=shown,
        most=MOST_FLIPS,
    )


def _picture(one: Mapping[str, Any]) -> Markup:
    """The difference on its interval, with zero and the margin, in points."""
    low, high = one["interval"]
    threshold = one["margin"] if one["preset"] == "improvement" else -one["margin"]
    reach = max(abs(low), abs(high), abs(threshold), 0.01) * 1.15
    scale, middle = Scale(-reach, reach, MARGIN, WIDTH - MARGIN), HEIGHT / 2
    marks = [_mark(scale, 0.0, "no difference")]
    if threshold:
        marks.append(_mark(scale, threshold, f"margin {points(threshold)}"))
    return element(
        "svg",
        element("path", d=path([(scale.start, middle), (scale.end, middle)]), class_="grid"),
        *marks,
        element("path", d=path([(scale(low), middle), (scale(high), middle)]), class_="span"),
        element("circle", cx=scale(one["difference"]), cy=middle, r=5),
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        class_="panel difference",
        role="img",
        aria_label=_described(one["difference"], (low, high)),
    )


def _described(difference: float, interval: Sequence[float]) -> str:
    low, high = (points(end) for end in interval)
    return f"Difference {points(difference)} points, interval from {low} to {high}"


def _mark(scale: Scale, value: float, words: str) -> Markup:
    """A line across, named below."""
    at, side = scale(value), "end" if value < 0 else "middle"
    return Markup("").join(
        [
            element("path", d=path([(at, 10), (at, HEIGHT - 18)]), class_="grid"),
            element("text", words, x=at, y=HEIGHT - 4, text_anchor=side, class_="tick"),
        ]
    )
