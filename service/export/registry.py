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
    about : str
        What the file holds, for the API's documentation.
    write : ExportedSelection → str
        May raise ExportError.
    run : (ExportedSelection, file name) → str, optional
        The command that runs the chosen examples only, given the file.
    """

    name: str
    media_type: str
    ending: str
    about: str
    write: Callable[[ExportedSelection], str]
    run: Callable[[ExportedSelection, str], str] | None = None

    def filename(self, selection: ExportedSelection) -> str:
        """The file name that `command` expects."""
        return f"{selection.id}.{self.ending}"

    def command(self, selection: ExportedSelection) -> str | None:
        """The command line for the saved file; None if the format belongs to no tool."""
        return None if self.run is None else self.run(selection, self.filename(selection))


_CSV = "with weights; text that a spreadsheet would read as a formula gets a leading apostrophe"
_JSON = "with weights and the tool's own ids"
_LM_EVAL = "the JSON for lm-evaluation-harness's `--samples`"
_INSPECT = "the value for Inspect's `--sample-id`"
_HELM = "refused, with the reason"

_ALL = (
    ExportFormat("ids", "text/plain", "txt", "one per line", plain.ids),
    ExportFormat("csv", "text/csv", "csv", _CSV, plain.csv),
    ExportFormat("json", "application/json", "json", _JSON, plain.as_json),
    ExportFormat("lm_eval", "application/json", "lm_eval.json", _LM_EVAL, lm_eval.write, lm_eval.command),
    ExportFormat("inspect", "text/plain", "inspect.txt", _INSPECT, inspect_ai.write, inspect_ai.command),
    ExportFormat("helm", "text/plain", "helm.txt", _HELM, helm.write, helm.command),
)

FORMATS = {form.name: form for form in _ALL}
TOOLS = tuple(form.name for form in _ALL if form.run is not None)
