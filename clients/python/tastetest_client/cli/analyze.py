"""`tastetest analyze`: the whole job for one file."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tastetest_client.cli import service
from tastetest_client.cli.exit_codes import PipelineCommand, PipelineError
from tastetest_client.cli.push import params_of

if TYPE_CHECKING:
    from tastetest_client._sync.client import Client
    from tastetest_client.results import MdadResult


@click.command(cls=PipelineCommand, context_settings=service.HELP)
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--target",
    type=click.FloatRange(0, 1, min_open=True),
    help="Difference between models to be seen: 0.03 is 3 points. By default 1.5 times the benchmark's own.",
)
@click.option("--open", "opened", is_flag=True, help="Show the report in a browser.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    show_default="here",
    help="Where to write the report and the chosen examples.",
)
@service.options(service.URL, service.KEY, service.WAIT)
@click.option(
    "--option",
    "-o",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help="How to read the file, as `POST /matrices` takes it: metric=acc, orientation=models_as_rows …",
)
def analyze(
    path: Path,
    target: float | None,
    opened: bool,
    folder: Path,
    url: str,
    key: str | None,
    wait: float,
    options: tuple[str, ...],
) -> None:
    """Say how small the benchmark in PATH can be, and choose the examples.

    PATH holds the results of several models: a table, a log or a folder of logs. The answer
    comes first; NAME-report.html has it with figures, NAME-examples.txt the chosen examples.

    Ends with 0 when there is an answer, with 3 when not.
    """
    from tastetest_client import Client
    from tastetest_client.cli.files import opened as file

    # Their names are only known now; the service refuses those it does not know.
    reading: dict[str, str] = params_of(options)
    with Client(url, api_key=key, timeout=service.SECONDS, retry_seconds=wait) as client:
        with file(path) as upload:
            matrix = client.matrices.upload(upload, name=path.resolve().stem, **reading)  # type: ignore[arg-type]
        result = client.mdad(matrix, target_mdad=target)
        selected = _selected(client, result)
        report = client.jobs.report(result.job_id)
        address = client.jobs.report_url(result.job_id)
    _print(result)
    written = _write(folder / f"{path.resolve().stem}-report.html", report)
    click.echo(f"\nReport: {written} ({address})")
    if selected is not None:
        selection, text = selected
        ids = _write(folder / f"{path.resolve().stem}-examples.txt", text)
        click.echo(
            f"Chosen examples: {ids} (selection {selection})\n\n"
            f"Next: run a model on them, then\n"
            f"  tastetest push RESULTS --selection {selection} --model main\n"
            f"  tastetest gate --selection {selection} --baseline main --candidate NEW"
        )
    if opened:
        webbrowser.open(address)


def _selected(client: Client, result: MdadResult) -> tuple[str, str] | None:
    """The selection that the result recommends, with the ids of its examples."""
    if result.recommendation.select is None:
        return None
    selection = client.select(result)
    return selection.selection_id, client.selections.export(selection)


def _print(result: MdadResult) -> None:
    from rich.console import Console

    from tastetest_client.cli.formatting import width

    Console(width=width(), highlight=False).print(result)


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PipelineError(f"{path} cannot be written: {error.strerror or error}.") from error
    return path
