"""The content of an export, and the error if an export is not possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class ExportError(Exception):
    """A selection cannot be exported in a format; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Example:
    """One chosen example.

    Attributes
    ----------
    task, native_id : str or None
        The task and id that the tool uses; None if no log gave them.
    """

    id: str
    weight: float
    subtask: str | None
    task: str | None = None
    native_id: str | None = None


@dataclass(frozen=True, slots=True)
class ExportedSelection:
    """A selection to export.

    Attributes
    ----------
    examples : sequence of Example
        In ascending order of id.
    tool : str or None
        Format of the logs that the benchmark was read from, if they named the examples.
    benchmark : mapping of str to sequence of str
        Task → the tool's ids of all its examples, chosen or not.
    """

    id: str
    content_hash: str
    examples: Sequence[Example]
    tool: str | None = None
    benchmark: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def by_task(self, tool: str, title: str, logs: str) -> dict[str, list[str]]:
        """The tool's ids of the chosen examples, by task.

        Parameters
        ----------
        tool, title : str
            The tool's format name, and its name for people.
        logs : str
            Which logs to upload if the tool's ids are not known.

        Raises
        ------
        ExportError
            The examples did not come from this tool, or its command would read a task's name as an option.
        """
        if self.tool is None:
            raise ExportError(
                f"{title}'s ids of these examples are not known, because none of its logs was uploaded; "
                f"upload {logs} unchanged, either of all models as a new matrix or of one model with PUT to "
                "this matrix"
            )
        if self.tool != tool:
            raise ExportError(
                f"these examples were run by {self.tool}, not by {tool}; format=json exports the ids they "
                "have there"
            )
        found: dict[str, list[str]] = {}
        for example in self.examples:
            found.setdefault(str(example.task), []).append(str(example.native_id))
        option = next((task for task in found if task.startswith("-")), None)
        if option is not None:
            raise ExportError(
                f"{title} would read the task {option!r} as an option of its command; use format=json"
            )
        return dict(sorted(found.items()))
