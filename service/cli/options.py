"""Options shared by several commands."""

from __future__ import annotations

from pathlib import Path

import click

DATA_DIR = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".tastetest"),
    show_default=True,
    help="Where the default stack keeps its data.",
)
