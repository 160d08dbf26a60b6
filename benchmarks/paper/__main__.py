"""Run the experiment and write docs/paper.md; needs ../shared."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.paper.comparison import CHECKED, pairs, report
from benchmarks.paper.measured import METHODS, measure
from benchmarks.paper.published import TRIALS, matrix, published

ROOT = Path(__file__).parents[2]
SOURCES = (10, 50, 100, 200, 300)
SIZES = (10, 25, 50, 100, 200)


def main() -> int:
    shared = ROOT.parent / "shared"
    if not shared.is_dir():
        print("make paper needs ../shared: the published tables and the GPQA data are not in this project")
        return 1
    ours = measure(matrix(shared), METHODS, SOURCES, SIZES, TRIALS)
    kept = {key: value for key, value in ours.items() if key[0] in CHECKED or key[1] == max(SOURCES)}
    text = report(pairs(kept, published(shared)), TRIALS)
    print(text)
    head = (Path(__file__).parent / "head.md").read_text(encoding="utf-8")
    (ROOT / "docs" / "paper.md").write_text(f"{head}\n{text}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
