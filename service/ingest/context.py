"""What a reader is given beside its file."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from service.ingest.options import Limits, Options
from service.ingest.source import File


@dataclass
class Context:
    """The caller's choices, the limits, every file of the upload, and what to tell the caller.

    Attributes
    ----------
    tasks : list of str
        Tasks the logs are of, wanted or not, for the refusal when none is.
    """

    options: Options
    limits: Limits
    files: Mapping[str, File]
    warnings: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)
    _memory: dict[str, object] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def in_same_folder(self, file: File) -> Sequence[File]:
        """All files in the same folder, this one too."""
        return self._folders[posixpath.dirname(file.name)]

    def sibling(self, file: File, basename: str) -> File | None:
        """The file of this name in the same folder."""
        return self.files.get(posixpath.join(posixpath.dirname(file.name), basename))

    def warn(self, text: str, once: str | None = None) -> None:
        """Tell the caller; of the same text, or of all with the same `once`, only the first."""
        if (once or text) not in self._told:
            self._told.add(once or text)
            self.warnings.append(text)

    def cached(self, key: str, make: Callable[[], object]) -> object:
        """What `make` gives, made once: for what many files share."""
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    def repeat_number(self, name: str, *, counting: bool = False) -> int:
        """A number for a repeat: the same for the same name or, counting, the next one for it."""
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
