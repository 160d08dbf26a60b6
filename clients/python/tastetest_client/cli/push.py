"""`tastetest push`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tastetest_client.cli import service
from tastetest_client.cli.exit_codes import PipelineCommand
from tastetest_client.cli.service import Answer

if TYPE_CHECKING:
    from tastetest_client._sync.transport import Transport


@click.command(cls=PipelineCommand, context_settings=service.HELP)
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--model", metavar="NAME", help="What to store it as: a commit, say, or main.")
@service.options(service.MATRIX, service.SELECTION, service.URL, service.KEY, service.WAIT, service.JSON)
@click.option(
    "--option",
    "-o",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help="How to read the file, as `POST /matrices` takes it: metric=acc, missing=zero …",
)
def push(
    path: Path,
    model: str | None,
    matrix: str | None,
    selection: str | None,
    url: str,
    key: str | None,
    wait: float,
    as_json: bool,
    options: tuple[str, ...],
) -> None:
    """Send the results in PATH, a log, a table or a folder of logs, and store them under a name.

    To a selection (answers to its examples are enough): what the model would score on
    the full benchmark. To a matrix: one more model of it, or new results of one it has.

    Ends with 0 when they are stored, with 3 when not.
    """
    from tastetest_client import _protocol
    from tastetest_client.cli import formatting
    from tastetest_client.cli.files import opened

    service.one_of(matrix, selection)
    params = params_of(options)
    with service.connected(url, key, wait) as connection, opened(path) as upload:
        if selection is not None:
            params |= {"keep": "true"} | ({} if model is None else {"model": model})
            to = _protocol.path("selections", selection, "scores")
            answer = connection.json(_protocol.Call("POST", to, params, upload=upload))
            service.show(answer, as_json, formatting.scores)
        elif matrix is None or model is None:
            raise click.UsageError("A matrix stores results under a name; give --model.")
        else:
            to = _protocol.path("matrices", matrix, "models", model)
            answer = connection.json(_protocol.Call("PUT", to, params, upload=upload))
            service.show(
                answer, as_json, lambda made: formatting.stored(made, model, _models(connection, made))
            )


def params_of(options: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, as parameters of a request."""
    params = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise click.BadParameter(f"{option!r} is not of the form NAME=VALUE.", param_hint="--option")
        params[name] = value
    return params


def _models(connection: Transport, matrix: Answer) -> list[Answer]:
    """All models of the revision just made."""
    from tastetest_client._protocol import Call, path

    found: list[Answer] = []
    cursor: str | None = None
    while True:
        params = {"revision": matrix["revision"], "cursor": cursor}
        page = connection.json(Call("GET", path("matrices", matrix["id"], "models"), params))
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found
