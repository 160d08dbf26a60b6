"""Draw the documentation's figures from the bundled sample, with the service's own engine and pens.

    python tools/docs/figures.py

Takes some minutes; the files are committed, so that building the site does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from service.engine.data import summary
from service.engine.data.item_rest import item_rest
from service.engine.data.matrix import Matrix
from service.engine.microbenchmark import select
from service.engine.planning.plan import Outline, mdad_plan, select_plan
from service.engine.reliability import mdad_job
from service.engine.selection.registry import METHODS
from service.report import formatting
from service.report.charts import Axes, Panel
from service.report.figures import Figure, figures
from service.report.scales import Scale, ticks
from service.report.svg import element, path

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "img"
CHOSEN = 25
WIDTH, HEIGHT = 480.0, 300.0


def main() -> None:
    """Write every figure, light and dark."""
    matrix = sample()
    reliability(matrix)
    for method in METHODS:
        save(f"chosen-{method}", Figure(method, f"What {method} chooses", (chosen(matrix, method),)))


def sample() -> Matrix:
    """The bundled sample."""
    with np.load(ROOT / "service" / "sample" / "digits.npz") as arrays:
        return Matrix.build(
            arrays["models"].tolist(),
            arrays["examples"].tolist(),
            arrays["scores"],
            subtasks=arrays["subtasks"].tolist(),
            embeddings=arrays["embeddings"],
        )


def reliability(matrix: Matrix) -> None:
    """MDAD by size of every method, and the agreement curve of the recommended one."""
    plan = mdad_plan({"methods": list(METHODS)}, Outline.of(matrix))
    pieces = mdad_job.run_all(matrix, plan, lambda done: None)
    result: dict[str, Any] = mdad_job.assemble(matrix, plan, pieces, lambda done: None)
    scores = dict(zip(matrix.models, matrix.accuracies.tolist(), strict=True))
    drawn = figures(result, scores)
    for name in ("mdad", "agreement", "models", "error"):
        save(name, drawn[name])
    print(result["recommendation"]["sentence"])


def chosen(matrix: Matrix, method: str) -> Panel:
    """All examples by difficulty and item–rest correlation, those the method chooses in colour."""
    plan = select_plan({"method": method, "size": CHOSEN}, Outline.of(matrix))
    result = select.run(matrix, plan, lambda done: None)
    weights = {example["id"]: example["weight"] for example in result["examples"]}
    means, correlations = summary.difficulty(matrix), np.nan_to_num(item_rest(matrix))
    x, y = Scale(0, 1, 40, WIDTH - 26), Scale(-0.4, 1, HEIGHT - 52, 40)
    axes = Axes(
        x,
        y,
        [(value, formatting.percent(value, 0)) for value in ticks(0, 1)],
        [(value, f"{value:.1f}") for value in ticks(-0.4, 1, 7)],
        "models that get the example right",
        "item–rest correlation",
    )
    quiet = [
        path([(x(mean), y(r)), (x(mean), y(r))])
        for example, mean, r in zip(matrix.examples, means, correlations, strict=True)
        if example not in weights
    ]
    marks = [
        element(
            "circle",
            cx=x(mean),
            cy=y(r),
            r=max(2.5, 28 * weights[example] ** 0.5),
            class_="mark s1",
            opacity=0.85,
        )
        for example, mean, r in zip(matrix.examples, means, correlations, strict=True)
        if example in weights
    ]
    dots = element("path", d="".join(quiet), class_="dots s7", stroke_width=3, stroke_opacity=0.28)
    told = f"{CHOSEN} of {len(matrix.examples)} examples, their area the weight they get."
    return Panel(f"What {method} chooses", told, WIDTH, HEIGHT, Markup("").join([axes.draw(), dots, *marks]))


def save(name: str, figure: Figure) -> None:
    """Both themes as SVG."""
    for theme in ("light", "dark"):
        (IMAGES / f"{name}-{theme}.svg").write_text(str(figure.svg(theme)))


if __name__ == "__main__":
    main()
