"""The context in which a reader reads its file."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from service.ingest.options import Limits, Options
from service.ingest.source import File


@dataclass
class Context:
    """The caller's options, the limits, all files of the upload, and the warnings so far.

    Attributes
    ----------
    tasks : list of str
        All tasks in the logs, to list them if the caller asked for a task that is not among them.
    """

    options: Options
    limits: Limits
    files: Mapping[str, File]
    warnings: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    _given: set[str] = field(default_factory=set)
    _memory: dict[str, object] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def in_same_folder(self, file: File) -> Sequence[File]:
        """All files in the same folder, including this one."""
        return self._folders[posixpath.dirname(file.name)]

    def sibling(self, file: File, basename: str) -> File | None:
        """The file with this name in the same folder, or None."""
        return self.files.get(posixpath.join(posixpath.dirname(file.name), basename))

    def warn(self, text: str, once: str | None = None) -> None:
        """Add a warning, unless there is one with the same text or the same `once`."""
        if (once or text) not in self._given:
            self._given.add(once or text)
            self.warnings.append(text)

    def cached(self, key: str, make: Callable[[], object]) -> object:
        """The value of `make()`, computed once per key: for data that several files share."""
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    def repeat_number(self, name: str, *, counting: bool = False) -> int:
        """A number for the repeat with this name; with `counting`, each call gives the name its next
        number.
        """
        numbers = self._counts if counting else self._numbers
        if counting:
            numbers[name] = numbers.get(name, -1) + 1
        return numbers.setdefault(name, len(numbers))

    @cached_property
    def _folders(self) -> Mapping[str, Sequence[File]]:
        folders: dict[str, list[File]] = {}
        for name, file in self.files.items():
            folders.setdefault(posixpath.dirname(name), []).append(file)
        return folders
