"""What there is to export, and why it may not be possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class ExportError(Exception):
    """No such export of a selection; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Example:
    """One chosen example.

    Attributes
    ----------
    task, native_id : str or None
        What the tool that ran it calls it; None where no log told.
    """

    id: str
    weight: float
    subtask: str | None
    task: str | None = None
    native_id: str | None = None


@dataclass(frozen=True, slots=True)
class ExportedSelection:
    """A selection on its way out.

    Attributes
    ----------
    examples : sequence of Example
        In ascending order of id.
    tool : str or None
        Name of the format of the logs the benchmark was read from, if they named the examples.
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
            The tool as `tool` has it, and as people call it.
        logs : str
            What to upload where its ids are not known.

        Raises
        ------
        ExportError
            The examples did not come from this tool, or a task's name would be an option of its command.
        """
        if self.tool is None:
            raise ExportError(
                f"what {title} calls these examples is not known, since no log of its own named them; upload "
                f"{logs} as they are: of all models to a new matrix, or of one with PUT to this one"
            )
        if self.tool != tool:
            raise ExportError(
                f"these examples were run by {self.tool}, not by {tool}; format=json has their ids there"
            )
        found: dict[str, list[str]] = {}
        for example in self.examples:
            found.setdefault(str(example.task), []).append(str(example.native_id))
        option = next((task for task in found if task.startswith("-")), None)
        if option is not None:
            raise ExportError(f"{title} would take the task {option!r} for an option of its own")
        return dict(sorted(found.items()))
