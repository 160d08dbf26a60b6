"""Ours beside the paper's: what counts as a match, and the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.paper.measured import Measured
from benchmarks.paper.published import NAMES, Key, Published

CHECKED = {"random", "stratified", "tinybenchmarks"}
MOST_SE = 3.0
MDAD_SLACK = 0.01
HEAD = (
    "| size | items | MDAD | published | agreement | published | tau | published | error | published | "
    "standard errors |\n|--:|---|--:|---|--:|--:|--:|--:|--:|--:|---|"
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of the table."""

    key: Key
    ours: Measured
    theirs: Published

    @property
    def distances(self) -> dict[str, float]:
        """Difference of each mean in standard errors of the difference.

        The paper's agreement has no standard deviation: ours stands for both.
        """
        o, t = self.ours, self.theirs
        return {
            "agreement": (o.agreement - t.agreement) / (o.agreement_se * 2**0.5),
            "tau": (o.tau - t.tau) / (o.tau_se**2 + t.tau_se**2) ** 0.5,
            "error": (o.error - t.error) / (o.error_se**2 + t.error_se**2) ** 0.5,
        }

    @property
    def mdad_matches(self) -> bool:
        """Within the published interval, or 0.01 of the published value."""
        if self.ours.mdad is None:
            return False
        near = abs(self.ours.mdad - self.theirs.mdad) <= MDAD_SLACK + 1e-9
        return near or self.theirs.low - 1e-9 <= self.ours.mdad <= self.theirs.high + 1e-9

    @property
    def misses(self) -> list[str]:
        """What does not match, in words."""
        method, sources, size, truth = self.key
        where = f"{method}, {sources} source models, {size} examples, {truth.replace('_', ' ')}"
        far = [f"{name} {z:+.1f} SE" for name, z in self.distances.items() if abs(z) > MOST_SE]
        if not self.mdad_matches:
            far.append(f"MDAD {_span(self.ours)} for {_span(self.theirs)}")
        return [f"{where}: {', '.join(far)}"] if far else []


def pairs(ours: Mapping[Key, Measured], theirs: Mapping[Key, Published]) -> list[Pair]:
    """What both have."""
    return [Pair(key, ours[key], theirs[key]) for key in ours if key in theirs]


def report(every: list[Pair], trials: int) -> str:
    """Markdown: how many match, which do not, then every number."""
    checked = [pair for pair in every if pair.key[0] in CHECKED]
    means = [z for pair in checked for z in pair.distances.values()]
    within = sum(abs(z) <= MOST_SE for z in means)
    mdads = sum(pair.mdad_matches for pair in checked)
    lines = [
        f"{trials} trials. Of the checked methods' {len(means)} means, {within} lie within {MOST_SE:.0f} "
        f"standard errors of the published ones; of their {len(checked)} MDADs, {mdads} lie in the published "
        f"interval or within {MDAD_SLACK} of the published value. The others:",
        "",
        *([f"* {miss}" for pair in checked for miss in pair.misses] or ["none."]),
        "",
        *_tables(checked, "Checked"),
        *_tables([pair for pair in every if pair not in checked], "For information"),
    ]
    return "\n".join(lines)


def _tables(every: list[Pair], title: str) -> Iterator[str]:
    yield f"## {title}\n"
    for method, sources in dict.fromkeys(pair.key[:2] for pair in every):
        yield f"### `{method}` beside {NAMES[method]}, {sources} source models\n"
        yield HEAD
        yield from (_row(pair) for pair in every if pair.key[:2] == (method, sources))
        yield ""


def _row(pair: Pair) -> str:
    o, t = pair.ours, pair.theirs
    cells = [
        str(pair.key[2]),
        pair.key[3].removesuffix("_items"),
        _span(o),
        _span(t),
        *(f"{x:.3f}" for x in (o.agreement, t.agreement, o.tau, t.tau)),
        *(f"{x:.4f}" for x in (o.error, t.error)),
        " ".join(f"{z:+.1f}" for z in pair.distances.values()),
    ]
    return f"| {' | '.join(cells)} |"


def _span(side: Measured | Published) -> str:
    return f"{_points(side.mdad)} [{_points(side.low)}, {_points(side.high)}]"


def _points(mdad: float | None) -> str:
    return "–" if mdad is None else f"{100 * mdad:g}"
