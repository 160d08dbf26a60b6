"""The table and the lines under it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Measured = dict[str, Floats]

HEAD = """| | 10 sources: same items | new items | error | most sources: same items | new items | error |
|---|---|---|---|---|---|---|"""


def table(few: list[Measured], most: list[Measured]) -> str:
    """Agreement in %, mean over benchmarks and sizes; error against random sampling's."""
    lines = [HEAD]
    for name in few[0]:
        cells = [cell for measured in (few, most) for cell in _cells(name, measured)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(name: str, measured: list[Measured]) -> list[str]:
    if any(name not in part for part in measured):
        return ["–"] * 3
    same, new = (np.mean([part[name][:, column] for part in measured]) for column in (0, 1))
    ratio = np.log([part[name][:, 2] / part["random"][:, 2] for part in measured])
    return [f"{100 * same:.1f}", f"{100 * new:.1f}", f"{np.exp(ratio.mean()):.2f}"]


def coverage_lines(covered: dict[tuple[str, int], dict[str, float]], strangers: list[Measured]) -> str:
    """Coverage of the intervals as a list, and what sources of other families cost."""
    lines = [
        "## Intervals and probabilities",
        "",
        "90 % intervals of models that had no part in anything:",
        "",
    ]
    for (name, sources), found in covered.items():
        sizes = f"{100 * found['lowest size']:.0f}–{100 * found['highest size']:.0f} % by size"
        ends = f"{100 * found['bottom fifth']:.0f} and {100 * found['top fifth']:.0f} %"
        lines.append(
            f"* {name}, {sources} sources: {100 * found['all']:.0f} % covered ({sizes}; bottom and top fifth "
            f"{ends}); of pairs given 0.8 to 0.9, {100 * found['pairs']:.0f} % in order"
        )
    ours, random = (
        np.mean([part[name] for part in strangers], axis=(0, 1)) for name in ("**optimal_design**", "random")
    )
    lines.append(
        f"* Sources of other families than the targets (digits and graded digits, kinds of classifiers "
        f"parted): agreement {100 * ours[0]:.1f} % on the same items, random {100 * random[0]:.1f} %; "
        f"error {100 * ours[2]:.1f} points, random {100 * random[2]:.1f}"
    )
    return "\n".join(lines)
