"""The group of all commands."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from tastetest_client.cli.exit_codes import PipelineGroup

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OURS = {
    "analyze": "tastetest_client.cli.analyze:analyze",
    "export": "tastetest_client.cli.export:export",
    "gate": "tastetest_client.cli.gate:gate",
    "push": "tastetest_client.cli.push:push",
}
ENTRY_POINTS = "tastetest.commands"
"""The group by which other distributions, like the server, add their commands."""


class Commands(PipelineGroup):
    """Ours, and what other installed distributions add; each is loaded when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return sorted({*OURS, *(point.name for point in _others())})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; ours first, as looking for entry points takes time."""
        if cmd_name in OURS:
            module, _, name = OURS[cmd_name].partition(":")
            command: click.Command = getattr(importlib.import_module(module), name)
            return command
        for point in _others(name=cmd_name):
            loaded: click.Command = point.load()
            return loaded
        return None


def _others(name: str | None = None) -> Iterable[EntryPoint]:
    # Its import takes longer than all else that `--help` of our commands needs.
    from importlib.metadata import entry_points

    found = entry_points(group=ENTRY_POINTS)
    return found if name is None else found.select(name=name)


def _versions(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    for name in ("tastetest-client", "tastetest"):
        try:
            click.echo(f"{name} {version(name)}")
        except PackageNotFoundError:
            click.echo(f"{name} is not installed: pip install it for the commands of the server.")
    ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_versions)
def main() -> None:
    """How small can your benchmark be, and which comparisons can you still trust?"""
