"""Exports for scripts and spreadsheets: one id per line, CSV, JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from service.core.spreadsheet_csv import to_csv
from service.export.selection import ExportedSelection, ExportError


def ids(selection: ExportedSelection) -> str:
    """One id per line, for scripts.

    Raises
    ------
    ExportError
        An id has a line break, so that it would be read as two ids.
    """
    for example in selection.examples:
        if len(example.id.splitlines()) > 1:
            raise ExportError(
                f"Example {example.id!r} has a line break in its id; use format=csv or format=json"
            )
    return "".join(f"{example.id}\n" for example in selection.examples)


def csv(selection: ExportedSelection) -> str:
    """Ids with weights, for spreadsheets; text that would be read as a formula gets a leading apostrophe."""
    return to_csv([("id", "weight", "subtask"), *((e.id, e.weight, e.subtask) for e in selection.examples)])


def as_json(selection: ExportedSelection) -> str:
    """All that is known about the chosen examples."""
    fields = {
        "selection_id": selection.id,
        "content_hash": selection.content_hash,
        "tool": selection.tool,
        "examples": [asdict(example) for example in selection.examples],
    }
    return json.dumps(fields, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
