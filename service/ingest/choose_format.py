"""Which format the files of an upload have, and which of them hold answers."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field

from service.core.errors import FieldError, InvalidRequest, InvalidUpload, UnsupportedMedia
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.refusals import listed, refuse
from service.ingest.registry import EXCLUDED_FILES, FORMATS, NAMES, UploadFormat
from service.ingest.source import File


@dataclass(slots=True)
class _Found:
    """The files by format, those of no known format, and why others hold no answers."""

    by_format: dict[str, list[File]] = field(default_factory=dict)
    unknown: list[File] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def add(self, file: File, head: Head) -> None:
        """Sort in one file."""
        excluded = next((kind for kind in EXCLUDED_FILES if kind.matches(head)), None)
        form = next((form for form in FORMATS if form.matches(head)), None)
        if excluded is not None:
            self.reasons.append(f"{file.name} {excluded.reason}")
        elif form is not None:
            self.by_format.setdefault(form.name, []).append(file)
        else:
            self.unknown.append(file)

    def set_aside(self, files: Sequence[File]) -> None:
        """Count these among the unknown."""
        names = {file.name for file in files}
        kept = {name: [f for f in fs if f.name not in names] for name, fs in self.by_format.items()}
        self.by_format = {name: fs for name, fs in kept.items() if fs}
        self.unknown.extend(files)


def choose(context: Context) -> tuple[UploadFormat, list[File]]:
    """The format of an upload and the files in it that hold answers.

    Raises
    ------
    InvalidRequest
        `options.format` names no format.
    UnsupportedMedia
        No file has a signature this service knows.
    InvalidUpload
        The files have several formats, or no file holds answers.
    """
    heads = [(file, Head.of(file)) for file in context.files.values() if not _is_junk(file.name)]
    if context.options.format is not None:
        form = by_name(context.options.format)
        fitting = [file for file, head in heads if form.matches(head)]
        return form, fitting or [file for file, _ in heads]
    found = _Found()
    for file, head in heads:
        found.add(file, head)
    if not found.by_format:
        raise _refuse_all(found)
    if len(found.by_format) > 1:
        found.set_aside(_beside_the_data(found.by_format))
    return _the_one_format(found, context)


def by_name(name: str) -> UploadFormat:
    """The format that `format=` names."""
    for form in FORMATS:
        if form.name == name:
            return form
    detail = f"there is no format {name!r}; the formats are {', '.join(NAMES)}"
    raise InvalidRequest(detail, [FieldError("/format", "unknown_format", detail)])


def _beside_the_data(found: dict[str, list[File]]) -> list[File]:
    """What files of several formats hold besides the data: other output of a tool, or texts."""
    forms = [by_name(name) for name in found]
    if not all(form.container for form in forms):
        return [file for form in forms if form.container for file in found[form.name]]
    return [
        file
        for form in forms
        if form.is_prose is not None
        for file in found[form.name]
        if form.is_prose(file.name)
    ]


def _refuse_all(found: _Found) -> InvalidUpload | UnsupportedMedia:
    if found.reasons:
        return refuse(found.reasons[0], "no_answers", [("", reason) for reason in found.reasons[:20]])
    names = listed([file.name for file in found.unknown])
    detail = (
        f"{names}: the format is not one that this service reads ({', '.join(NAMES)}); convert the file, or "
        "send format= with one of them"
    )
    errors = [FieldError(file.name, "unknown_format", "not recognised") for file in found.unknown[:20]]
    return UnsupportedMedia(detail, errors)


def _the_one_format(found: _Found, context: Context) -> tuple[UploadFormat, list[File]]:
    if len(found.by_format) > 1:
        kinds = "; ".join(
            f"{name}: {listed([f.name for f in files], 2)}" for name, files in found.by_format.items()
        )
        raise refuse(
            f"the files have several formats ({kinds}); send files of one format, or send format= with the "
            "one to use",
            "mixed",
        )
    if found.unknown:
        context.warn(
            f"ignored because the format is not recognised: {listed([file.name for file in found.unknown])}"
        )
    ((name, files),) = found.by_format.items()
    return by_name(name), files


def _is_junk(name: str) -> bool:
    """Whether it is a file that operating systems add to archives."""
    return posixpath.basename(name).startswith(".") or "__MACOSX/" in name
