"""MDAD, and estimation error, against size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from service.report import charts, formatting
from service.report.charts import Axes, Panel, Point, Series
from service.report.curves import TRUTHS, Judged, PlottedCurve, Result, measured_sizes, plotted_curves, truths
from service.report.scales import Scale, ceiling, ticks
from service.report.svg import element, path, shortened
from service.report.theme import ThemeStyle

Reader = Callable[[int, Judged], Point]

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 480.0, 40.0, 190.0, 62.0, 52.0
SMALL = (320.0, 240.0)
DECADES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SINGLE_DASH = {"same_items": None, "new_items": "6 4"}
RANDOM_DASH = "2 4"
ROUND_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)


def mdad_panels(result: Result) -> list[Panel]:
    """All methods' MDAD by size, one panel a truth."""
    return [_overview(result, truth) for truth in truths(result)]


def method_panels(result: Result) -> list[Panel]:
    """Each method on its own: MDAD with interval on same and new items, beside exact random; and a key."""
    scale = _mdad_scale(result)
    panels = [_single(result, line, scale) for line in plotted_curves(result)]
    return [*panels, _key(result)] if panels else []


def error_panels(result: Result) -> list[Panel]:
    """Mean absolute error of estimated scores by size, one panel a truth."""
    return [panel for truth in truths(result) if (panel := _errors(result, truth))]


def series_of(result: Result, truth: str, read: Reader) -> list[Series]:
    """One series a line of the result."""
    found = [
        Series(
            line.label,
            line.look,
            tuple(read(size, judged) for size, judged in line.judged(truth)),
            line.chosen,
        )
        for line in plotted_curves(result)
    ]
    return [one for one in found if one.points]


def _overview(result: Result, truth: str) -> Panel:
    series = series_of(result, truth, _mdad_point)
    height = charts.height_for(len(series))
    axes = _mdad_axes(result, Scale(LEFT, 0, LEFT, WIDTH - RIGHT), (height - BOTTOM, TOP))
    bold = [one for one in series if one.bold]
    body = [
        *(charts.draw_band(one, axes) for one in bold),
        axes.draw(),
        _target_line(result, axes),
        _resolution_line(result, axes),
        _size_band(result, truth, axes),
        *(charts.draw_line(one, axes) for one in series if not one.bold),
        *(charts.draw_line(one, axes) for one in bold),
        charts.draw_names(series, axes),
        _head(f"On {formatting.TRUTHS[truth]}"),
        _halo(result, truth, axes),
    ]
    title = f"MDAD by size on {formatting.TRUTHS[truth]}"
    return Panel(title, _description(series, "MDAD"), WIDTH, height, Markup("").join(body))


def _single(result: Result, line: PlottedCurve, scale: Scale) -> Panel:
    width, height = SMALL
    axes = _mdad_axes(result, Scale(0, 0, 42, width - 14), (height - 46, 46), scale)
    drawn = []
    for truth in truths(result):
        appearance = ThemeStyle(line.look.colour, line.look.mark, SINGLE_DASH[truth])
        points = tuple(_mdad_point(size, judged) for size, judged in line.judged(truth))
        drawn.append(Series(formatting.TRUTHS[truth], appearance, points))
    body = [
        axes.draw(),
        _target_line(result, axes, named=False),
        *(charts.draw_band(one, axes) for one in drawn),
        _random_line(result, axes),
        *(charts.draw_line(one, axes) for one in drawn),
        element("text", element("title", line.label), shortened(line.label, 38), x=0, y=18, class_="head"),
    ]
    description = ". ".join(f"On {one.label}: {_description([one], 'MDAD')}" for one in drawn)
    return Panel(f"MDAD of {line.label}", description, width, height, Markup("").join(body))


def _key(result: Result) -> Panel:
    """What the lines of the small panels mean."""
    width, height = SMALL
    samples = [(formatting.TRUTHS[truth], "series thin s7", SINGLE_DASH[truth]) for truth in truths(result)]
    samples += [
        ("exact random, same items", "series thin soft", RANDOM_DASH),
        ("wanted MDAD", "target", None),
    ]
    body = [element("text", "How to read these", x=0, y=18, class_="head")]
    for at, (word, classes, dash) in enumerate(samples):
        y = 50.0 + 26 * at
        line = path([(10, y), (58, y)])
        body.append(element("path", d=line, class_=classes, stroke_dasharray=dash))
        body.append(element("text", word, x=72, y=y + 4.5))
    y = 50.0 + 26 * len(samples)
    body.append(element("rect", x=10, y=y - 7, width=48, height=14, class_="band s7"))
    body.append(element("text", "95 % interval, over models and trials", x=72, y=y + 4.5))
    description = "; ".join(word for word, _, _ in samples)
    return Panel("Key to the lines", description, width, height, Markup("").join(body))


def _errors(result: Result, truth: str) -> Panel | None:
    series = [
        one for one in series_of(result, truth, _error_point) if any(p.y is not None for p in one.points)
    ]
    if not series:
        return None
    top = ceiling(max(p.y or 0.0 for one in series for p in one.points), 4)
    height = charts.height_for(len(series))
    x = Scale(*_size_range(result), LEFT, WIDTH - RIGHT, logarithmic=True)
    y = Scale(0, top, height - BOTTOM, TOP)
    y_ticks = [(value, formatting.tick(value)) for value in ticks(0, top, 4)]
    axes = Axes(x, y, _size_ticks(result), y_ticks, "examples in the micro-benchmark", "mean error, points")
    body = [
        axes.draw(),
        *(charts.draw_line(one, axes) for one in sorted(series, key=lambda one: one.bold)),
        charts.draw_names(series, axes),
        _head(f"Against the score on {formatting.TRUTHS[truth]}"),
    ]
    title = f"Estimation error by size on {formatting.TRUTHS[truth]}"
    return Panel(title, _description(series, "mean error"), WIDTH, height, Markup("").join(body))


def _mdad_point(size: int, judged: Judged) -> Point:
    low, high = judged["interval"] or (None, None)
    unit = "" if judged["mdad"] is None else " points"
    note = f"{formatting.count(size, 'example')}: MDAD {formatting.mdad(judged)}{unit}"
    return Point(size, judged["mdad"], low, high, note)


def _error_point(size: int, judged: Judged) -> Point:
    error = judged.get("estimation_error") or {"mean": None, "p90": None}
    note = (
        f"{formatting.count(size, 'example')}: mean error {formatting.points(error['mean'], 2)} points, "
        f"90th percentile {formatting.points(error['p90'], 2)}"
    )
    return Point(size, error["mean"], note=note)


def _mdad_scale(result: Result) -> Scale:
    """Logarithmic, from half a point or less to the next round value above the largest."""
    values = [
        judged["mdad"]
        for line in plotted_curves(result)
        for truth in TRUTHS
        for _, judged in line.judged(truth)
        if judged["mdad"] is not None
    ]
    largest = max([*values, wanted(result) or 0.0, 0.05])
    high = next(value for value in (0.05, 0.1, 0.2, 0.3, 0.5, 1.0) if value >= largest)
    return Scale(0.004, high, 0, 0, logarithmic=True)


def _mdad_axes(result: Result, x: Scale, vertical: tuple[float, float], scale: Scale | None = None) -> Axes:
    of = scale or _mdad_scale(result)
    y = Scale(of.low, of.high, *vertical, logarithmic=True)
    y_ticks = [(value, formatting.tick(value)) for value in DECADES if value <= of.high]
    x = Scale(*_size_range(result), x.start, x.end, logarithmic=True)
    return Axes(x, y, _size_ticks(result), y_ticks, "examples in the micro-benchmark", "MDAD, points")


def _size_range(result: Result) -> tuple[float, float]:
    sizes = measured_sizes(result)
    low, high = min(sizes), max(sizes)
    return (low, high) if high > low else (low / 2, high * 2)


def _size_ticks(result: Result) -> list[tuple[float, str]]:
    """The sizes asked for; round ones where sizes were to be found."""
    sizes = measured_sizes(result)
    asked = result["settings"]["sizes"]
    if asked == "auto":
        asked = [n for n in ROUND_SIZES if min(sizes) <= n <= max(sizes)] or [sizes[0]]
    return [(float(size), f"{size:,}") for size in asked]


def wanted(result: Result) -> float | None:
    """The target, asked for or by default; None where no models differ."""
    target: float | None = result["recommendation"]["target_mdad"]
    return target


def _target_line(result: Result, axes: Axes, *, named: bool = True) -> Markup:
    target = wanted(result)
    if not target:
        return Markup("")
    return _level(target, f"wanted: {formatting.points(target)}", "target", axes, named=named)


def _resolution_line(result: Result, axes: Axes) -> Markup:
    """What the full benchmark can tell apart on new questions; results of earlier versions have none."""
    found = result["recommendation"].get("resolution")
    if not found or not axes.y.low <= found <= axes.y.high:
        return Markup("")
    return _level(found, f"resolution: {formatting.points(found)}", "grid", axes, named=True)


def _level(value: float, said: str, look: str, axes: Axes, *, named: bool) -> Markup:
    at = axes.y(max(value, axes.y.low))
    line = element("path", d=path([(axes.x.start, at), (axes.x.end, at)]), class_=look)
    if not named:
        return line
    return line + element("text", said, x=axes.x.start + 6, y=at + 17, class_="good over")


def _size_band(result: Result, truth: str, axes: Axes) -> Markup:
    """Where the recommended size would lie with other seeds."""
    ends = result["recommendation"].get("size_interval")
    if truth != result["settings"]["truth"] or not ends or None in ends:
        return Markup("")
    start, end = (axes.x(min(max(n, axes.x.low), axes.x.high)) for n in ends)
    return element(
        "rect",
        x=start,
        y=axes.y.end,
        width=max(end - start, 1.5),
        height=axes.y.start - axes.y.end,
        class_="band accent",
    )


def _random_line(result: Result, axes: Axes) -> Markup:
    known = [
        (axes.x(entry["size"]), axes.y(entry["same_items"]["mdad"]))
        for entry in result["exact_random"]
        if entry["same_items"]["mdad"] is not None
    ]
    return (
        element("path", d=path(known), class_="series thin soft", stroke_dasharray=RANDOM_DASH)
        if known
        else Markup("")
    )


def _halo(result: Result, truth: str, axes: Axes) -> Markup:
    """A ring around the recommended size, on the truth it was chosen by."""
    advice = result["recommendation"]
    if truth != result["settings"]["truth"] or not advice["size"] or not advice["mdad"]:
        return Markup("")
    at = axes.y(min(max(advice["mdad"], axes.y.low), axes.y.high))
    return element("circle", cx=axes.x(advice["size"]), cy=at, r=11, class_="halo")


def _head(text: str) -> Markup:
    return element("text", text, x=0, y=20, class_="head")


def _description(series: Sequence[Series], what: str) -> str:
    """The drawing in a sentence a line."""
    if not series:
        return "Nothing to show."
    return "; ".join(
        f"{one.label}: {what} "
        + ", ".join(
            f"{formatting.points(p.y) if p.y is not None else 'not reached'} at {p.x:,.0f}"
            for p in one.points
        )
        for one in series
    )
