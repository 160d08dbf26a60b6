"""All export formats of a selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from service.export import helm, inspect_ai, lm_eval, plain
from service.export.selection import ExportedSelection


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One export format.

    Attributes
    ----------
    write : ExportedSelection → str
        May raise ExportError.
    run : (ExportedSelection, file name) → str, optional
        The command that runs the chosen examples only, given the file.
    """

    name: str
    media_type: str
    ending: str
    write: Callable[[ExportedSelection], str]
    run: Callable[[ExportedSelection, str], str] | None = None

    def filename(self, selection: ExportedSelection) -> str:
        """The file name that `command` expects."""
        return f"{selection.id}.{self.ending}"

    def command(self, selection: ExportedSelection) -> str | None:
        """The command line for the saved file; None if the format belongs to no tool."""
        return None if self.run is None else self.run(selection, self.filename(selection))


_ALL = (
    ExportFormat("ids", "text/plain", "txt", plain.ids),
    ExportFormat("csv", "text/csv", "csv", plain.csv),
    ExportFormat("json", "application/json", "json", plain.as_json),
    ExportFormat("lm_eval", "application/json", "lm_eval.json", lm_eval.write, lm_eval.command),
    ExportFormat("inspect", "text/plain", "inspect.txt", inspect_ai.write, inspect_ai.command),
    ExportFormat("helm", "text/plain", "helm.txt", helm.write, helm.command),
)

FORMATS = {form.name: form for form in _ALL}
TOOLS = tuple(form.name for form in _ALL if form.run is not None)
