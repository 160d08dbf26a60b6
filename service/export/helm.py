"""HELM cannot run chosen instances; this export explains what to do instead."""

from __future__ import annotations

from typing import NoReturn

from service.export.selection import ExportedSelection, ExportError


def write(selection: ExportedSelection) -> NoReturn:
    """Refuse with the reason and an alternative."""
    raise ExportError(
        "HELM cannot run chosen instances: --max-eval-instances draws instances itself, and HELM renumbers "
        "the instances it loads. Run the scenarios in full and send per_instance_stats.json to POST "
        "/selections/{id}/scores, which ignores answers to other examples"
    )


def command(selection: ExportedSelection, filename: str) -> NoReturn:
    """There is no such command."""
    write(selection)
