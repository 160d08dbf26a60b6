"""docs/img/methods.svg: the sample's models that had no part in the choice, estimated from 25 digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods_table.benchmarks import Benchmark
from service.engine.data.contracts import Source
from service.engine.selection.optimal_design import OptimalDesign

SIZE = 25
SOURCES = 50
LOW, HIGH, SIDE, GAP = 0.35, 1.0, 250.0, 70.0
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#57606a}line,rect{stroke:#8c959f;fill:none}"
    ".dot{fill:#0969da;stroke:none}.bar{stroke:#0969da;opacity:.45}"
    "@media(prefers-color-scheme:dark){text{fill:#adbac7}.dot{fill:#6cb6ff}.bar{stroke:#6cb6ff}}"
)
Floats = NDArray[np.float64]


def draw(digits: Benchmark, path: Path) -> None:
    """Estimated against true score: the plain mean of random examples, and the design with its intervals."""
    rng = np.random.default_rng(3)
    sources, targets = np.split(rng.permutation(len(digits.scores)), [SOURCES])
    source = Source(digits.scores[np.sort(sources)], digits.strata)
    scores = digits.scores[targets].astype(np.float64)
    fitted = OptimalDesign().fit(source, rng)
    subset = fitted.pick(SIZE)
    answers = scores[:, subset.indices]
    truth = scores.mean(axis=1)
    drawn = scores[:, rng.permutation(scores.shape[1])[:SIZE]].mean(axis=1)
    panels = (
        _panel(0, f"{SIZE} random digits, plain mean", truth, drawn, None),
        _panel(
            1,
            f"{SIZE} designed digits, predicted, 90 % intervals",
            truth,
            fitted.estimate(subset, answers, "blp"),
            fitted.interval(subset, answers),
        ),
    )
    width, height = 2 * SIDE + GAP + 70, SIDE + 75
    title = f"Estimated against true score of {len(targets)} classifiers that had no part in the choice"
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{title}"><title>{title}</title><style>{STYLE}</style>{"".join(panels)}</svg>\n',
        encoding="utf-8",
    )


def _panel(at: int, title: str, truth: Floats, estimates: Floats, ends: Floats | None) -> str:
    left = 50 + at * (SIDE + GAP)
    parts = [
        f'<rect x="{left:g}" y="30" width="{SIDE:g}" height="{SIDE:g}"/>',
        f'<line x1="{left:g}" y1="{30 + SIDE:g}" x2="{left + SIDE:g}" y2="30"/>',
        f'<text x="{left:g}" y="20">{title}</text>',
        f'<text x="{left + SIDE / 2:g}" y="{SIDE + 68:g}" text-anchor="middle">true score</text>',
    ]
    if at == 0:
        turned = f'transform="rotate(-90 12 {30 + SIDE / 2:g})" x="12" y="{30 + SIDE / 2:g}"'
        parts.append(f'<text {turned} text-anchor="middle">estimate</text>')
    for tick in (0.4, 0.6, 0.8, 1.0):
        x, y = _place(tick, left), _height(tick)
        parts.append(f'<text x="{x:.1f}" y="{SIDE + 48:g}" text-anchor="middle">{tick:.1f}</text>')
        parts.append(f'<text x="{left - 6:g}" y="{y + 4:.1f}" text-anchor="end">{tick:.1f}</text>')
    for i, (true, estimate) in enumerate(zip(truth, estimates, strict=True)):
        x = _place(true, left)
        if ends is not None:
            low, high = (_height(float(np.clip(end, LOW, HIGH))) for end in ends[i])
            parts.append(f'<line class="bar" x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}"/>')
        y = _height(float(np.clip(estimate, LOW, HIGH)))
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
    return "".join(parts)


def _place(value: float, left: float) -> float:
    return left + SIDE * (value - LOW) / (HIGH - LOW)


def _height(value: float) -> float:
    return 30 + SIDE * (HIGH - value) / (HIGH - LOW)
