"""Options that say where the service is, and calls that answer with its JSON."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tastetest_client._sync.transport import Transport

Answer = dict[str, Any]
Command = TypeVar("Command", bound=Callable[..., Any])
HELP = {"help_option_names": ["-h", "--help"]}
SECONDS = 600

URL = click.option(
    "--url",
    envvar="TASTETEST_URL",
    default="http://127.0.0.1:8000",
    show_default=True,
    show_envvar=True,
    help="Where the service is.",
)
KEY = click.option(
    "--key",
    envvar="TASTETEST_API_KEY",
    show_envvar=True,
    help="An API key, where the service asks for one; better set than written.",
)
WAIT = click.option(
    "--wait",
    type=click.FloatRange(0),
    default=30,
    show_default=True,
    help="Seconds to keep asking a service that is away.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print the service's answer instead.")
MATRIX = click.option("--matrix", metavar="ID", help="The full benchmark: a matrix.")
SELECTION = click.option("--selection", metavar="ID", help="Its chosen examples: a selection.")


def options(*given: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options, in the order they are shown."""

    def add(command: Command) -> Command:
        for option in reversed(given):
            command = option(command)
        return command

    return add


@contextlib.contextmanager
def connected(url: str, key: str | None, wait: float) -> Iterator[Transport]:
    """A connection for the length of the block."""
    from tastetest_client._protocol import Connection
    from tastetest_client._sync.transport import Transport

    transport = Transport(Connection(url, key, SECONDS, wait))
    try:
        yield transport
    finally:
        transport.close()


def one_of(matrix: str | None, selection: str | None) -> None:
    """Refuse both and neither."""
    if (matrix is None) == (selection is None):
        raise click.UsageError("Give either --matrix or --selection.")


def show(answer: Answer, as_json: bool, formatted: Callable[[Answer], None]) -> None:
    """The answer as JSON, or for people."""
    if as_json:
        click.echo(json.dumps(answer, indent=2, ensure_ascii=True))
    else:
        formatted(answer)
