"""Measure what was tried and write docs/methods.md; needs ../shared. A few minutes of one core."""

from __future__ import annotations

import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.methods_table.benchmarks import benchmarks
from benchmarks.methods_table.best import section
from benchmarks.methods_table.figure import draw
from benchmarks.methods_table.judge import beyond, compare, coverage
from benchmarks.methods_table.report import coverage_lines, table
from benchmarks.methods_table.variants import VARIANTS

ROOT = Path(__file__).parents[2]
FEW = 10
TRIALS = 20


def main() -> int:
    shared = ROOT.parent / "shared"
    if not shared.is_dir():
        print("make methods needs ../shared: the GPQA data are not in this project")
        return 1
    parts = benchmarks(shared)
    with threadpool_limits(1):
        measured = [
            [compare(VARIANTS, part, FEW, TRIALS) for part in parts],
            [compare(VARIANTS, part, part.most_sources, TRIALS) for part in parts],
        ]
        covered = {
            (part.name, sources): coverage(part, sources, TRIALS)
            for part in parts
            for sources in sorted({FEW, 50, part.most_sources})
        }
        ours = {name: VARIANTS[name] for name in ("**optimal_design**", "random")}
        strangers = [
            compare(ours, part, 40, TRIALS, other_families=True)
            for part in parts
            if part.families is not None
        ]
        ahead = {part.name: beyond(part, 40, TRIALS) for part in parts}
        against = section(parts)
    text = f"{table(*measured)}\n\n{against}\n\n{coverage_lines(covered, strangers, ahead)}\n"
    print(text)
    draw(parts[1], ROOT / "docs" / "img" / "methods.svg")
    head = (Path(__file__).parent / "head.md").read_text(encoding="utf-8")
    (ROOT / "docs" / "methods.md").write_text(f"{head}\n{text}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
