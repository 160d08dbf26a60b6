"""`make demo`: the main job on the bundled sample, over HTTP, on a throw-away stack."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rich import box
from rich.console import Console
from rich.table import Table
from tastetest_client import Client
from tastetest_client.results import MdadResult, SelectionResult

from service.report import text_figure

SAMPLE = Path(__file__).parents[1] / "sample" / "digits.npz"
MDAD_REQUEST: dict[str, Any] = {"methods": ["random", "stratified", "optimal_design"]}
SHOWN_IDS = 6
COLUMNS = 80
REPORT = Path("tastetest-demo.html")
NEXT = """
With your own results, a table or a log of your evaluation tool:

  tastetest serve                                   # and in another shell
  tastetest analyze results.csv --target 0.03       # how small, which examples
  tastetest push new.csv --selection ID --model new # its score on the benchmark
"""
CAPTION = "~: larger than any size measured; all: no smaller size does."


def run() -> None:
    """Start a stack, run the main job on it, print what a caller would see, stop everything."""
    console = Console(highlight=False, width=COLUMNS)
    console.print("Starting Postgres, Valkey, a worker and the API in a temporary folder ...")
    with _service() as address, Client(address) as client:
        matrix = client.matrices.upload(SAMPLE, name="digits")
        console.print(
            f"Uploaded the bundled sample: {matrix.models} models × {matrix.examples} examples, "
            f"{len(matrix.subtasks)} subtasks. Measuring how small it can be ...\n"
        )
        result = client.mdad(matrix, **MDAD_REQUEST)
        selection = client.select(result)
        _show(console, result, selection)
        _keep_report(console, client.jobs.report(result.job_id))
    console.print(NEXT, soft_wrap=True)
    console.print("Everything is stopped again; nothing else was kept.")


def _show(console: Console, result: MdadResult, selection: SelectionResult) -> None:
    """The answer, how it depends on the difference, and what the chosen examples can do."""
    found = result.model_dump(mode="json")
    console.print(f"[bold]{result.sentence}[/bold]")
    console.print(targets_table(found))
    console.print("\n".join(text_figure.mdad_by_size(found)), markup=False)
    more = ", ..." if selection.size > SHOWN_IDS else ""
    console.print(f"\nChosen examples ({selection.size}): {', '.join(selection.ids[:SHOWN_IDS])}{more}")
    console.print(check_sentence(selection))


def check_sentence(selection: SelectionResult) -> str:
    """What a pull-request check on the chosen examples would see."""
    gate = selection.gate
    if gate is None or gate.smallest_detectable_drop is None:
        return "A pull-request check on these examples alone would find no drop reliably; use more."
    return (
        f"A pull-request check on these {gate.size} examples fails a drop of "
        f"{100 * gate.smallest_detectable_drop:.1f} points in {100 * gate.power:g} % of cases, and an "
        f"unchanged model in {100 * gate.false_fail_rate:.0f} %."
    )


def _keep_report(console: Console, page: str) -> None:
    try:
        REPORT.write_text(page, encoding="utf-8")
    except OSError as error:
        console.print(f"The report with figures cannot be written here: {error.strerror}.")
    else:
        console.print(f"The report with figures: {REPORT.resolve().as_uri()}", soft_wrap=True)


def targets_table(result: dict[str, Any]) -> Table:
    """How many examples each method takes to tell models so far apart."""
    heads, *rows = text_figure.targets(result)
    table = Table(
        title="Examples needed, by the difference to be seen in points of accuracy",
        caption=CAPTION,
        box=box.SIMPLE_HEAD,
    )
    for at, head in enumerate(heads):
        table.add_column(head, justify="right" if at else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


@contextlib.contextmanager
def _service() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="tastetest-demo-") as folder, _log(Path(folder)) as log:
        command = [sys.executable, "-m", "service.cli", "serve", "--port", "0", "--data-dir", folder]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield _ready_address(process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@contextlib.contextmanager
def _log(folder: Path) -> Iterator[IO[str]]:
    """Where the service logs; shown only when something went wrong."""
    with (folder / "api.log").open("w+") as log:
        try:
            yield log
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read())
            raise


def _ready_address(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        if found := re.search(r"ready on (http://\S+)", line):
            return found.group(1)
    raise SystemExit(f"The service did not start (exit code {process.wait()}).")
