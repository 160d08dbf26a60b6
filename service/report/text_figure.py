"""MDAD against size in plain text, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from service.report import formatting
from service.report.curves import Result, plotted_curves
from service.report.scales import Scale

WIDTH, HEIGHT, LEFT = 80, 16, 7
TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
ROUND_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
LEGEND = "● recommended method, ░ its 95 % band, · exact random, ─ target, ┄ resolution"

Cell = Mapping[str, Any]


def mdad_by_size(result: Result) -> list[str]:
    """Lines of at most 80 characters; empty where no method has an MDAD.

    The recommended method's line with its band, exact random draws, the target, the resolution of
    the full benchmark, and the recommended size with where it would lie with other seeds.
    """
    curve, random = list(_curve(result)), list(_random(result))
    if not curve and not random:
        return []
    canvas = _Canvas(result, curve + random)
    for value, mark in ((result["recommendation"].get("resolution"), "┄"), (canvas.target, "─")):
        canvas.level(value, mark)
    canvas.band(curve)
    canvas.dots(random, "·")
    canvas.dots(curve, "●")
    return [*canvas.rows(), *canvas.feet(), LEGEND]


def _curve(result: Result) -> Iterator[Cell]:
    """Size, MDAD and interval of the recommended line, or the best tested one."""
    advice = result["recommendation"]
    pick = advice if advice["size"] else advice["best_tested"]
    for line in plotted_curves(result):
        if pick and line.is_at(pick):
            for size, judged in line.judged(advice["truth"]):
                if judged["mdad"] is not None:
                    yield {"size": size, "mdad": judged["mdad"], "interval": judged["interval"]}


def _random(result: Result) -> Iterator[Cell]:
    for entry in result["exact_random"]:
        judged = entry["same_items"]
        if judged and judged["mdad"] is not None:
            yield {"size": entry["size"], "mdad": judged["mdad"], "interval": None}


class _Canvas:
    """A grid of characters with logarithmic axes."""

    def __init__(self, result: Result, cells: list[Cell]) -> None:
        self._advice = result["recommendation"]
        self.target: float | None = self._advice["target_mdad"]
        levels = [v for v in (self.target, self._advice.get("resolution")) if v]
        values = [cell["mdad"] for cell in cells] + levels
        sizes = [cell["size"] for cell in cells]
        self._y = Scale(min(values) * 0.9, max(values) * 1.1, HEIGHT - 1, 0, logarithmic=True)
        self._x = Scale(min(sizes), max(sizes) * 1.0001, LEFT + 1, WIDTH - 1, logarithmic=True)
        self._grid = [[" "] * WIDTH for _ in range(HEIGHT)]

    def level(self, value: float | None, mark: str) -> None:
        if value:
            row = self._grid[round(self._y(value))]
            row[LEFT + 1 :] = mark * (WIDTH - LEFT - 1)

    def dots(self, cells: list[Cell], mark: str) -> None:
        for cell in cells:
            self._grid[round(self._y(cell["mdad"]))][round(self._x(cell["size"]))] = mark

    def band(self, cells: list[Cell]) -> None:
        for cell in cells:
            low, high = cell["interval"] or (None, None)
            if low is None:
                continue
            for row in range(round(self._y(high or cell["mdad"])), round(self._y(low)) + 1):
                self._grid[row][round(self._x(cell["size"]))] = "░"

    def rows(self) -> Iterator[str]:
        words = {round(self._y(v)): formatting.tick(v) for v in TICKS if self._y.low <= v <= self._y.high}
        yield "MDAD, points"
        for at, row in enumerate(self._grid):
            yield f"{words.get(at, ''):>{LEFT - 1}} ┤{''.join(row[LEFT + 1 :])}".rstrip()

    def feet(self) -> Iterator[str]:
        """Round sizes, and below them the recommended size between its ends."""
        marks = [" "] * WIDTH
        for size in ROUND_SIZES:
            if self._x.low <= size <= self._x.high:
                _write(marks, round(self._x(size)), f"{size:,}")
        yield f"{' ' * LEFT}└{'─' * (WIDTH - LEFT - 1)}"
        yield "".join(marks).rstrip()
        size = self._advice["size"]
        if size:
            ends = self._advice.get("size_interval") or [size, size]
            row = [" "] * WIDTH
            low, high = (round(self._x(end or size)) for end in ends)
            row[low : high + 1] = "─" * (high - low + 1)
            row[round(self._x(size))] = "▲"
            said = f"{size:,} examples" + (f" ({ends[0]}–{ends[1]})" if None not in ends else "")
            _write(row, high + 2 + len(said) // 2, said)
            yield "".join(row).rstrip()


def _write(row: list[str], middle: int, said: str) -> None:
    """Centre a word where it fits; nothing over another."""
    start = min(max(middle - len(said) // 2, LEFT), WIDTH - len(said))
    if all(mark == " " for mark in row[start : start + len(said)]):
        row[start : start + len(said)] = said


def targets(result: Result) -> list[list[str]]:
    """Target → size by method, as rows of a table; the first holds the headings."""
    found = result.get("by_target") or []
    if not found:
        return []
    names = [cell["method"] for cell in found[0]["sizes"]]
    rows = [["points apart", *names]]
    for target in found:
        note = f" ({target['note']})" if target["note"] else ""
        cells = [
            "all" if cell["size"] is None else f"{'' if cell['measured'] else '~'}{cell['size']:,}"
            for cell in target["sizes"]
        ]
        rows.append([f"{formatting.points(target['target_mdad'], 2)}{note}", *cells])
    return rows
