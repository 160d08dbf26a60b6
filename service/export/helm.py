"""HELM has no way to run chosen instances."""

from __future__ import annotations

from typing import NoReturn

from service.export.selection import ExportedSelection, ExportError


def write(choice: ExportedSelection) -> NoReturn:
    """Say why not, and what goes instead."""
    raise ExportError(
        "HELM cannot run chosen instances: it has --max-eval-instances, which draws some itself, and numbers "
        "whatever it loads anew; run the scenarios in full and send per_instance_stats.json to "
        "POST /selections/{id}/scores, which sets answers to other examples aside"
    )


def command(choice: ExportedSelection, filename: str) -> NoReturn:
    """There is none."""
    write(choice)
