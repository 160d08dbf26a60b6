"""Run every benchmark, or those named, and print one table each."""

from __future__ import annotations

import importlib
import sys

from rich.console import Console
from rich.table import Table

BENCHMARKS = ("latency", "queue", "scaling", "experiments", "sessions")


def main(names: list[str]) -> int:
    console, missed = Console(), 0
    for name in names or BENCHMARKS:
        table = Table(title=name)
        for column in ("what", "measured", "beside", "ratio", "limit"):
            table.add_column(column, justify="left" if column == "what" else "right")
        for row in importlib.import_module(f"benchmarks.{name}").rows():
            missed += row.missed
            table.add_row(*row.cells())
        console.print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
