"""Every format a selection leaves in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from service.export import helm, inspect_ai, lm_eval, plain
from service.export.selection import Choice


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Attributes
    ----------
    write : Choice → str
        May raise Cannot.
    run : (Choice, file name) → str, optional
        The command that runs the chosen examples only, given the file.
    """

    name: str
    media_type: str
    ending: str
    write: Callable[[Choice], str]
    run: Callable[[Choice, str], str] | None = None

    def filename(self, choice: Choice) -> str:
        """What to save it as; `command` expects that."""
        return f"{choice.id}.{self.ending}"

    def command(self, choice: Choice) -> str | None:
        """The command line for the saved file; None where there is no one tool to run."""
        return None if self.run is None else self.run(choice, self.filename(choice))


_ALL = (
    Format("ids", "text/plain", "txt", plain.ids),
    Format("csv", "text/csv", "csv", plain.csv),
    Format("json", "application/json", "json", plain.as_json),
    Format("lm_eval", "application/json", "lm_eval.json", lm_eval.write, lm_eval.command),
    Format("inspect", "text/plain", "inspect.txt", inspect_ai.write, inspect_ai.command),
    Format("helm", "text/plain", "helm.txt", helm.write, helm.command),
)

FORMATS = {form.name: form for form in _ALL}
TOOLS = tuple(form.name for form in _ALL if form.run is not None)
