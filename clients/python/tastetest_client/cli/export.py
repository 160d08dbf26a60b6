"""`tastetest export`."""

from __future__ import annotations

from pathlib import Path

import click

from tastetest_client.cli import service
from tastetest_client.cli.exit_codes import PipelineCommand, PipelineError


@click.command(cls=PipelineCommand, context_settings=service.HELP)
@click.argument("selection", metavar="SELECTION")
@click.option(
    "--format",
    "kind",
    default="ids",
    show_default=True,
    help="As GET /selections/{selection_id}/export takes it: ids, csv, lm_eval, inspect …",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it [default: standard output].",
)
@service.options(service.URL, service.KEY, service.WAIT)
def export(selection: str, kind: str, output: Path | None, url: str, key: str | None, wait: float) -> None:
    """Write the chosen examples of a SELECTION as your evaluation tool takes them.

    Ends with 0, or with 3 when there is nothing to write.
    """
    from tastetest_client._protocol import Call, path

    with service.connected(url, key, wait) as connection:
        call = Call("GET", path("selections", selection, "export"), {"format": kind})
        text = connection.send(call).text
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PipelineError(f"{output} cannot be written: {error.strerror or error}.") from error
