"""The page of a matrix: scores of the models, difficulty of the examples, and possible errors in the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from service.engine.comparison.intervals import wilson_share
from service.engine.data import summary
from service.engine.data.item_rest import LEAST_MODELS, doubtful, item_rest
from service.engine.data.matrix import Matrix
from service.report import formatting
from service.report.charts import Axes, Panel
from service.report.scales import Scale, ceiling, ticks
from service.report.svg import element, path
from service.report.templates_env import render
from service.store.records import MatrixRecord, ModelRecord

MOST_ROWS = 1000
BINS = 20
WHISKER = (220.0, 20.0)

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table of scores, with a picture of its interval."""

    model: str
    score: float | None
    interval: Interval | None
    scored: int
    missing: int
    picture: Markup


@dataclass(frozen=True, slots=True)
class SuspectLabel:
    """An example that better models get wrong more often."""

    id: str
    correlation: float
    mean: float


@dataclass(frozen=True, slots=True)
class MatrixSummary:
    """A summary of a matrix's cells."""

    doubtful: Sequence[SuspectLabel]
    identical: Sequence[Sequence[str]]
    subtasks: Sequence[summary.Subtask]
    why_no_doubts: str | None


def matrix_page(record: MatrixRecord, models: Iterable[ModelRecord], matrix: Matrix) -> str:
    """The page as HTML."""
    look = summarise_matrix(matrix)
    rows, scale = _model_rows(models)
    return render(
        "matrix.html",
        matrix=record,
        rows=rows,
        scale=f"{formatting.percent(scale.low, 0)} to {formatting.percent(scale.high, 0)}",
        look=look,
        subtask_rows=[_subtask_row(subtask) for subtask in look.subtasks],
        difficulty=_difficulty(matrix).svg("difficulty"),
    )


def summarise_matrix(matrix: Matrix) -> MatrixSummary:
    """Summarise doubtful examples, identical models and subtasks."""
    means, correlations = summary.difficulty(matrix), item_rest(matrix)
    found = [
        SuspectLabel(matrix.examples[j], float(correlations[j]), float(means[j]))
        for j in doubtful(matrix, correlations)
    ]
    why = None
    if len(matrix.models) < LEAST_MODELS:
        why = f"At least {LEAST_MODELS} models are needed to detect mislabelled examples."
    return MatrixSummary(found, summary.identical_models(matrix), summary.subtasks(matrix), why)


def _model_rows(models: Iterable[ModelRecord]) -> tuple[list[Row], Scale]:
    """Rows of all models, the best first, with their intervals on one scale."""
    ranked = sorted(
        models, key=lambda model: (-(-1 if model.accuracy is None else model.accuracy), model.model)
    )
    intervals = [_interval(model) for model in ranked]
    ends = [end for interval in intervals if interval for end in interval]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    scale = Scale(np.floor(low * 20) / 20, np.ceil(high * 20) / 20, 4, WHISKER[0] - 4)
    rows = [
        Row(
            model.model,
            model.accuracy,
            interval,
            model.scored,
            model.missing,
            _whisker(model.accuracy, interval, scale),
        )
        for model, interval in list(zip(ranked, intervals, strict=True))[:MOST_ROWS]
    ]
    return rows, scale


def _interval(model: ModelRecord) -> Interval | None:
    if model.accuracy is None:
        return None
    low, high = wilson_share(model.accuracy, model.scored)
    return float(low), float(high)


def _subtask_row(subtask: summary.Subtask) -> Row:
    ends = (subtask.low, subtask.high)
    picture = _whisker(subtask.mean, ends, Scale(0, 1, 4, WHISKER[0] - 4))
    return Row(subtask.name, subtask.mean, ends, subtask.examples, 0, picture)


def _whisker(value: float | None, interval: Interval | None, scale: Scale) -> Markup:
    """A picture of a value on its interval, for a row that shows the numbers too."""
    width, height = WHISKER
    middle = height / 2
    parts = [element("path", d=path([(scale.start, middle), (scale.end, middle)]), class_="grid")]
    if value is not None and interval is not None:
        ends = [(scale(end), middle) for end in interval]
        parts += [
            element("path", d=path(ends), class_="span"),
            element("circle", cx=scale(value), cy=middle, r=3),
        ]
    return element("svg", *parts, viewBox=f"0 0 {width:g} {height:g}", class_="whisker", aria_hidden="true")


def _difficulty(matrix: Matrix) -> Panel:
    """Examples by the mean score of all models."""
    means = summary.difficulty(matrix)
    counts, edges = np.histogram(means[~np.isnan(means)], bins=BINS, range=(0, 1))
    top = ceiling(float(counts.max(initial=1)), 4)
    x, y = Scale(0, 1, 50, 472), Scale(0, top, 250, 50)
    axes = Axes(
        x, y,
        [(value, formatting.percent(value, 0)) for value in ticks(0, 1)],
        [(value, f"{value:,.0f}") for value in ticks(0, top, 4) if value == int(value)],
        "mean score of the models on an example", "examples",
    )  # fmt: skip
    bars = [
        _bar(low, high, count, axes)
        for low, high, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
        if count
    ]
    description = ", ".join(
        f"{int(count):,} from {formatting.percent(low, 0)}" for low, count in zip(edges, counts, strict=False)
    )
    return Panel("Examples by mean score", description, 500, 300, Markup("").join([axes.draw(), *bars]))


def _bar(low: float, high: float, count: int, axes: Axes) -> Markup:
    span = f"{formatting.percent(low, 0)} to {formatting.percent(high, 0)}"
    left, right, bottom, top_left = axes.x(low), axes.x(high), axes.y(0), axes.y(count)
    return element(
        "rect",
        element("title", f"{span}: {formatting.count(count, 'example')}"),
        x=left + 1,
        y=top_left,
        width=right - left - 2,
        height=bottom - top_left,
        class_="bar",
    )
