"""The user's own models on a line, those too close to tell apart bracketed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from service.report import formatting
from service.report.charts import Panel
from service.report.scales import Scale, ticks
from service.report.svg import element, path, shortened

WIDTH = 500.0
ROWS = 20
ROW_HEIGHT = 24.0
NAME_COLUMNS = 28
DOTS_LEFT, LANES_LEFT, LANE = 212.0, 400.0, 14.0
MOST_LANES = 6
STRIP_HEIGHT, MOST_BINS = 190.0, 60

Standing = Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Bracket:
    """Rows first … last, all within the MDAD of each other, drawn in a lane."""

    first: int
    last: int
    lane: int


def model_panels(
    accuracies: Mapping[str, float], mdad: float | None, group: Sequence[str] | None
) -> list[Panel]:
    """All models as a heap of dots, and the best (or the group asked for) by name."""
    if len(accuracies) < 2:
        return []
    chosen = {name: accuracies[name] for name in group or accuracies if name in accuracies}
    ranked = sorted(chosen.items(), key=lambda item: (-item[1], item[0]))
    heap = [_heap(accuracies, mdad)] if len(accuracies) > len(ranked[:ROWS]) else []
    return [_names(ranked[:ROWS], len(ranked), mdad, grouped=bool(group)), *heap]


def brackets(values: Sequence[float], mdad: float) -> list[Bracket]:
    """The largest runs of models less than the MDAD apart, best first; overlaps take further lanes."""
    runs: list[tuple[int, int]] = []
    last = 0
    for first, value in enumerate(values):
        last = max(last, first)
        while last + 1 < len(values) and value - values[last + 1] < mdad:
            last += 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    ends: list[int] = []
    placed = []
    for first, last in runs:
        lane = next((at for at, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        placed.append(Bracket(first, last, lane))
    return placed


def _names(ranked: Standing, total: int, mdad: float | None, *, grouped: bool) -> Panel:
    values = [value for _, value in ranked]
    found = brackets(values, mdad) if mdad else []
    lanes = max((bracket.lane for bracket in found), default=-1) + 1
    step = LANE if lanes <= MOST_LANES else LANE * MOST_LANES / lanes
    top = 48.0
    height = top + ROW_HEIGHT * len(ranked) + 52
    floor = top + ROW_HEIGHT * len(ranked)
    x = _zoomed(values, mdad or 0.0, DOTS_LEFT, LANES_LEFT - 16)
    of = f"of {total:,}" if total > len(ranked) else ""
    head = f"{'The group asked for' if grouped else f'The {len(ranked)} best {of}'.strip()}, by score"
    body = [element("text", head, x=0, y=20, class_="head"), _axis(x, floor, top)]
    for at, (name, value) in enumerate(ranked):
        body.append(_row(name, value, x, top + ROW_HEIGHT * (at + 0.5)))
    body.extend(_bracket(bracket, LANES_LEFT + bracket.lane * step, top) for bracket in found)
    title = f"{head}: those too close to tell apart are bracketed"
    return Panel(title, _description(ranked, found), WIDTH, height, Markup("").join(body))


def _row(name: str, value: float, x: Scale, y: float) -> Markup:
    said = element("title", f"{name}: {formatting.percent(value, 2)}")
    text = element("text", said, shortened(name, NAME_COLUMNS), x=0, y=y + 4.5, class_="strong")
    guide = element("path", d=path([(x.start, y), (x(value), y)]), class_="grid")
    return text + guide + element("circle", said, cx=x(value), cy=y, r=4.5, class_="mark s0")


def _bracket(bracket: Bracket, x: float, top: float) -> Markup:
    first, last = (top + ROW_HEIGHT * (at + 0.5) for at in (bracket.first, bracket.last))
    lines = [(x, first - 7), (x + 6, first - 7), (x + 6, last + 7), (x, last + 7)]
    return element("path", d=path(lines), class_="bracket")


def _heap(accuracies: Mapping[str, float], mdad: float | None) -> Panel:
    """Every model a dot above its score, and the MDAD as a measure."""
    values = sorted(accuracies.values())
    x = _zoomed(values, mdad or 0.0, 24, WIDTH - 24)
    floor, top = STRIP_HEIGHT - 48, 66.0
    width = (x.end - x.start) / MOST_BINS
    columns: dict[int, int] = {}
    dots = []
    places = [int((x(value) - x.start) / width) for value in values]
    tallest = max(places.count(place) for place in set(places))
    rise = min(width, (floor - top) / tallest)
    for place in places:
        level = columns[place] = columns.get(place, 0) + 1
        dots.append(f"M{x.start + (place + 0.5) * width:.1f} {floor - (level - 0.5) * rise:.1f}h0")
    body = [
        element("text", f"All {len(values):,} models", x=0, y=20, class_="head"),
        _axis(x, floor, floor),
        element("path", d="".join(dots), class_="dots s0", stroke_width=f"{min(width, rise) * 0.85:.2f}"),
        _measure(x, mdad),
    ]
    description = f"Scores from {formatting.percent(values[0])} to {formatting.percent(values[-1])}."
    return Panel(
        f"The scores of all {len(values):,} models", description, WIDTH, STRIP_HEIGHT, Markup("").join(body)
    )


def _measure(x: Scale, mdad: float | None) -> Markup:
    if not mdad:
        return Markup("")
    start, end = x.start, x.start + (x(x.low + mdad) - x.start)
    ruler = path([(start, 36), (start, 44)]) + path([(start, 40), (end, 40)]) + path([(end, 36), (end, 44)])
    said = f"closer than this ({formatting.points(mdad)} points): not to be told apart"
    return element("path", d=ruler, class_="bracket") + element(
        "text", said, x=end + 10, y=44, class_="strong"
    )


def _axis(x: Scale, floor: float, top: float) -> Markup:
    parts = [element("path", d=path([(x.start, floor), (x.end, floor)]), class_="grid")]
    for value in ticks(x.low, x.high, 4 if x.end - x.start < 300 else 8):
        at = x(value)
        parts.append(element("path", d=path([(at, top), (at, floor + 4)]), class_="grid"))
        parts.append(element("text", formatting.percent(value, 0), x=at, y=floor + 18, text_anchor="middle"))
    parts.append(
        element(
            "text", "score on the full benchmark", x=(x.start + x.end) / 2, y=floor + 37, text_anchor="middle"
        )
    )
    return Markup("").join(parts)


def _zoomed(values: Sequence[float], least: float, start: float, end: float) -> Scale:
    """The values' range, in whole hundredths."""
    low, high = min(values), max(values)
    high = max(high, low + least, low + 0.01)
    return Scale(max(0.0, int(low * 100) / 100), min(1.0, -int(-high * 100 // 1) / 100), start, end)


def _description(ranked: Standing, found: Sequence[Bracket]) -> str:
    line = ", ".join(f"{name} {formatting.percent(value)}" for name, value in ranked)
    runs = "; ".join(f"{ranked[b.first][0]} to {ranked[b.last][0]}" for b in found) or "none"
    return f"{line}. Too close to tell apart: {runs}."
