"""The table and the lines under it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods_table.judge import SIZES, Share

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


COVERED = f"""## Intervals and probabilities

Share of full scores within their 90 % intervals, of models that had no part in anything, by number of
examples and in the fifths of models with the lowest and highest estimates; and of pairs that are given 0.8
to 0.9, the share in the stated order. ± is one standard error; it is large for fifths of the digits, nine
models each, the same in every trial.

| sources | all | {" | ".join(map(str, SIZES))} | bottom fifth | top fifth | pairs |
|---|---|{"---|" * len(SIZES)}---|---|---|"""


def coverage_lines(
    covered: dict[tuple[str, int], dict[str, Share]],
    strangers: list[Measured],
    ahead: dict[str, tuple[Share, float]],
) -> str:
    """Coverage of the intervals as a table, what sources of other families cost, and worse sources."""
    lines = [COVERED]
    for (name, sources), found in covered.items():
        cells = [str(value) for key, value in found.items() if key != "pairs"]
        lines.append(f"| {name}, {sources} | {' | '.join(cells)} | {100 * found['pairs'].value:.0f} % |")
    ours, random = (
        np.mean([part[name] for part in strangers], axis=(0, 1)) for name in ("**optimal_design**", "random")
    )
    lines.append(
        f"\nSources of other families than the targets (digits and graded digits, kinds of classifiers "
        f"parted): agreement {100 * ours[0]:.1f} % on the same items, random {100 * random[0]:.1f} %; "
        f"error {100 * ours[2]:.1f} points, random {100 * random[2]:.1f}"
    )
    found = "; ".join(
        f"{name}: {covers} covered, estimates {100 * error:+.1f} points off"
        for name, (covers, error) in ahead.items()
    )
    lines.append(
        "\nA model **better than every source** is drawn towards them, and its interval is too sure: "
        "no data say how such a model goes on. The best tenth of models, with 40 sources from the "
        "lower four fifths: "
        f"{found}. `POST /selections/{{id}}/scores` warns of estimates beyond all sources; take good models "
        "as sources, and measure a new best model in full."
    )
    return "\n".join(lines)
